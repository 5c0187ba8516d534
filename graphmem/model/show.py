"""Results as readable text: what ``str()``, a notebook and the command line show."""

from __future__ import annotations

import html
from functools import singledispatch

from graphmem.model import care as c
from graphmem.model import results as r
from graphmem.vocabulary import EdgeType, Polarity

# Longest quote shown on one line, in characters; the whole text is in the data.
QUOTE_CHARS = 280

_ARROWS: dict[EdgeType, str] = {
    EdgeType.CONTAINS: "contains",
    EdgeType.PART_OF: "is part of",
    EdgeType.MENTIONS: "mentions",
    EdgeType.MENTIONED_IN: "mentioned in",
    EdgeType.FACT: "fact",
    EdgeType.CAUSES: "leads to",
    EdgeType.CAUSED_BY: "because of",
    EdgeType.SAME_EVENT: "same event",
    EdgeType.NEXT: "followed by",
    EdgeType.PREVIOUS: "preceded by",
    EdgeType.SUPERSEDES: "supersedes",
    EdgeType.SUPERSEDED_BY: "superseded by",
    EdgeType.SIMILAR: "similar to",
}


def quoted(text: str) -> str:
    """A text on one line in quotation marks, cut at ``QUOTE_CHARS``."""
    line = " ".join(text.split())
    if len(line) > QUOTE_CHARS:
        line = line[: QUOTE_CHARS - 1] + "…"
    return f"“{line}”"


def place(span: r.Span) -> str:
    """A span as ``uri:line``."""
    return span.uri if span.line is None else f"{span.uri}:{span.line}"


def path_lines(path: tuple[r.PathStep, ...]) -> list[str]:
    """A path, one edge a line, from the question's anchor to the quoted statement."""
    if not path:
        return []
    lines = [quoted(path[0].source_text)]
    for step in path:
        kind = f" [{step.kind}]" if step.kind is not None else ""
        where = f"  ({place(step.span)})" if step.span is not None else ""
        lines.append(f"  → {_ARROWS[step.edge]}{kind}  {quoted(step.target_text)}{where}")
    return lines


@singledispatch
def show(result: object) -> str:
    """A result as text of several lines."""
    return repr(result)


def show_html(result: object) -> str:
    """A result for a notebook; the text is escaped, since memory text is untrusted."""
    return f"<pre>{html.escape(show(result))}</pre>"


@show.register
def _(answer: r.Answer) -> str:
    direction = f", {answer.direction}" if answer.direction else ""
    head = f"{answer.intent}{direction}"
    if answer.window_text:
        head += f" · {answer.window_text}"
    if not answer.supported:
        reason = f"[{head}] no support: {answer.reason or 'nothing stored answers this'}"
        return f"{reason}\n({answer.note})" if answer.note else reason
    lines = [f"[{head}]"]
    for number, hit in enumerate(answer.hits, 1):
        lines.append(f"{number}. {hit.span.title}  ({place(hit.span)})")
        lines.append(f"   {quoted(hit.quote)}")
        lines += [
            f"   {'path: ' if i == 0 else '      '}{line}"
            for i, line in enumerate(path_lines(hit.path))
        ]
    if answer.chain:
        lines.append("causal chain")
        lines += [f"   {_edge_line(edge)}" for edge in answer.chain]
    if answer.truncated:
        lines.append("(truncated to the token budget)")
    if answer.note:
        lines.append(f"({answer.note})")
    return "\n".join(lines)


def _edge_line(edge: r.CausalEdge) -> str:
    return f"{quoted(edge.cause)} —{edge.kind}→ {quoted(edge.effect)}"


@show.register
def _(result: r.CausalResult) -> str:
    if not result.edges:
        return f"no causal links: {result.note or 'nothing stored says why or what followed'}"
    lines = [f"{len(result.edges)} of {result.total} causal edges ({result.direction})"]
    for edge in result.edges:
        lines.append(f"{edge.depth}. {_edge_line(edge)}")
        lines += [f"     {place(w.span)}  {quoted(w.quote)}" for w in edge.witnesses]
    if result.truncated:
        lines.append("(more edges exist; ask with a smaller depth or a more exact start)")
    return "\n".join(lines)


@show.register
def _(result: r.KgResult) -> str:
    if not result.entities:
        hint = f"; did you mean {', '.join(result.suggestions)}?" if result.suggestions else ""
        return f"no entity is named {result.query!r}{hint}"
    lines = [f"matched by {result.matched_by}"]
    for entity in result.entities:
        lines.append(f"{entity.name} ({entity.type})  {entity.id}  {entity.mentions} mentions")
        if len(entity.aliases) > 1:
            lines.append(f"   also written {', '.join(entity.aliases)}")
        for fact in entity.facts:
            lines += [f"   {line}" for line in _fact_lines(fact)]
        if entity.total_facts > len(entity.facts):
            lines.append(f"   … {entity.total_facts - len(entity.facts)} more facts")
    if result.cursor:
        lines.append(f"(the next page: cursor {result.cursor})")
    return "\n".join(lines)


def _fact_lines(fact: r.FactView) -> list[str]:
    denial = "not " if fact.polarity is Polarity.NEGATIVE else ""
    times = ""
    if fact.valid_from or fact.valid_to:
        start = fact.valid_from.date().isoformat() if fact.valid_from else "…"
        end = fact.valid_to.date().isoformat() if fact.valid_to else "…"
        times = f"  [{start}, {end})"
    past = "" if fact.current else "  (past)"
    lines = [f"{fact.subject} —{denial}{fact.predicate}→ {fact.object}{times}{past}"]
    lines += [f"     {place(e.span)}  {quoted(e.quote)}" for e in fact.evidence[:3]]
    return lines


@show.register
def _(report: r.IngestReport) -> str:
    lines = [
        f"{report.read} sources read: {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.absent} absent, {report.returned} returned",
        f"{report.passages} passages, {report.statements} statements, {report.entities} entities, "
        f"{report.facts} facts, {report.links} links in {report.seconds:.1f} s",
    ]
    for problem in report.problems:
        lines.append(f"not read: {_problem(problem)}")
    for problem in report.warnings:
        lines.append(f"warning: {_problem(problem)}")
    return "\n".join(lines)


def _problem(problem: r.Problem) -> str:
    line = "" if problem.line is None else f":{problem.line}"
    return f"{problem.path}{line}: {problem.reason}"


@show.register
def _(result: r.RememberResult) -> str:
    lines = [f"remembered as {', '.join(result.passage_ids)}"]
    for item in result.items:
        reason = f" ({item.reason})" if item.reason else ""
        lines.append(f"   {item.outcome} {item.kind} {item.id or ''}{reason}  {item.text}".rstrip())
    return "\n".join(lines)


@show.register
def _(result: r.GetResult) -> str:
    lines = []
    for item in result.items:
        lines.append(f"{item.id}  ({item.kind}, {item.status})")
        lines += [f"   {line}" for line in item.text.splitlines()]
    lines += [f"{missing}  not found" for missing in result.missing]
    return "\n".join(lines)


@show.register
def _(status: r.VaultStatus) -> str:
    lines = [
        f"vault      {status.path} (format {status.format})",
        f"sequence   {status.seq} (graph {status.graph_seq}, index {status.index_seq})",
        f"engine     {status.graph_engine}",
        f"embedder   {status.embedder} ({status.embedder_dimension} dimensions), "
        f"{status.vectors} vectors, {status.vectors_pending} pending",
    ]
    lines += [f"{kind:<10} {number}" for kind, number in sorted(status.counts.items())]
    lines += [f"root       {root}" for root in status.roots]
    lines += [f"warning    {warning}" for warning in status.warnings]
    return "\n".join(lines)


@show.register
def _(engine: r.EngineInfo) -> str:
    return f"{engine.name} {engine.version or f'is not installed; {engine.install}'}"


@show.register
def _(report: r.EngineReport) -> str:
    head = "the graph now is with" if report.switched else "engine    "
    lines = [f"{head} {report.engine}", f"vault      {report.path}"]
    if report.file is not None:
        lines.append(f"file       {report.file}, {report.file_bytes} bytes")
        lines.append(f"log        {report.log_bytes} bytes")
    return "\n".join([*lines, *(f"available  {show(each)}" for each in report.engines)])


def _named(counts: dict[str, int]) -> list[str]:
    return [f"   {kind:<16} {number}" for kind, number in sorted(counts.items())]


@show.register
def _(info: c.BackupInfo) -> str:
    made = info.manifest
    lines = [
        f"backup     {info.path} ({info.bytes / 1e6:.1f} MB)",
        f"created    {made.created:%Y-%m-%d %H:%M:%S} UTC by graphmem {made.graphmem}",
        f"journal    {made.head} rows, vault format {made.vault_format}",
        *_named(made.rows),
    ]
    return "\n".join([*lines, *([f"damaged    {info.problem}"] if info.problem else [])])


@show.register
def _(report: c.RestoreReport) -> str:
    if report.dry_run:
        return f"would restore {report.head} journal rows of {report.backup} to {report.vault}"
    lines = [f"restored {report.head} journal rows to {report.vault}", *_named(report.counts)]
    if report.moved_aside is not None:
        lines.append(f"the vault that was there is now {report.moved_aside}")
    if report.vectors_pending:
        lines.append(f"{report.vectors_pending} vectors are pending; graphmem sync computes them")
    return "\n".join(lines)


@show.register
def _(report: c.VerifyReport) -> str:
    failed = sum(not check.ok for check in report.checks)
    verdict = f"{failed} of {len(report.checks)} checks failed" if failed else "sound"
    lines = [f"{report.path} at row {report.seq}: {verdict}"]
    for check in report.checks:
        count = f"{check.failures} of {check.checked}" if check.failures else f"{check.checked}"
        lines.append(f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<12} {check.claim}: {count}")
        lines += [f"         {example}" for example in check.examples]
        lines += [f"      →  {check.advice}"] if not check.ok and check.advice else []
        lines += [f"         ({check.note})"] if check.note else []
    return "\n".join(lines)


@show.register
def _(report: c.DoctorReport) -> str:
    lines = []
    for finding in report.findings:
        lines.append(f"{finding.level:<4}  {finding.name:<12} {finding.text}")
        lines += [f"      → {finding.advice}"] if finding.advice else []
    return "\n".join(lines)


@show.register
def _(report: c.MigrationReport) -> str:
    if not report.steps:
        return f"{report.path} has format {report.after}; there is nothing to do"
    verb = "would go" if report.dry_run else "went"
    lines = [f"{report.path} {verb} from format {report.before} to {report.after}"]
    lines += [f"   {step}" for step in report.steps]
    return "\n".join([*lines, *([f"backup     {report.backup}"] if report.backup else [])])
