"""From question to answer: one pipeline for every surface, the same scope inside every lane."""

from graphmem.retrieve.causes import find_causal_links
from graphmem.retrieve.closing import Interval, close
from graphmem.retrieve.get import get
from graphmem.retrieve.intent import IntentGuess, classify
from graphmem.retrieve.kg import kg_query
from graphmem.retrieve.recipes import RECIPES, Plan, Recipe
from graphmem.retrieve.retriever import Retriever
from graphmem.retrieve.windows import Window, find_window

__all__ = [
    "RECIPES",
    "Interval",
    "IntentGuess",
    "Plan",
    "Recipe",
    "Retriever",
    "Window",
    "classify",
    "close",
    "find_causal_links",
    "find_window",
    "get",
    "kg_query",
]
