"""The store: the only part that touches Kuzu and SQLite."""

from graphmem.store.index_apply import search_text
from graphmem.store.vault import VaultStore, open_store

__all__ = ["VaultStore", "open_store", "search_text"]
