"""The store: the only part that touches the graph engines and SQLite."""

from graphmem.store.index_apply import search_text
from graphmem.store.switch import engine_report, switch_engine
from graphmem.store.vault import VaultStore, open_store

__all__ = ["VaultStore", "engine_report", "open_store", "search_text", "switch_engine"]
