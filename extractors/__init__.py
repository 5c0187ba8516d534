"""Extractors: from passages to statements, mentions, triples, causal claims and times."""

from graphmem.extractors.spacy_rules import SpacyExtractor

__all__ = ["SpacyExtractor"]
