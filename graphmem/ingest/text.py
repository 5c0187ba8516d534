"""Plain text: one section; a date line at the head is its time."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import PurePosixPath

from graphmem.ingest.dates import head_date
from graphmem.ingest.document import ReadDocument, Section
from graphmem.vocabulary import SourceKind


def read_text(
    text: str,
    uri: str,
    project: str,
    *,
    content_hash: str,
    modified: datetime | None = None,
    zone: tzinfo = UTC,
) -> ReadDocument:
    """A plain text as one section under no heading; its title is the file's name."""
    return ReadDocument(
        kind=SourceKind.TEXT,
        uri=uri,
        title=PurePosixPath(uri).stem,
        project=project,
        content_hash=content_hash,
        sections=(Section(text, 0, 1),) if text.strip() else (),
        authored_at=head_date(text, zone),
        file_modified_at=modified,
    )
