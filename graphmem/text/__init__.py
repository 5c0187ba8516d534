"""Text primitives: the lexical tokenizer. Pure functions, no database, no model."""

from graphmem.text.tokens import (
    COLUMN_WEIGHTS,
    COLUMNS,
    TOKENIZER_REVISION,
    Column,
    Term,
    Tokens,
    escape,
    fold,
    match_expression,
    query_terms,
    stem,
    tokenize,
)

__all__ = [
    "COLUMNS",
    "COLUMN_WEIGHTS",
    "TOKENIZER_REVISION",
    "Column",
    "Term",
    "Tokens",
    "escape",
    "fold",
    "match_expression",
    "query_terms",
    "stem",
    "tokenize",
]
