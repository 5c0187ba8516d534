"""Extractors: from passages to statements, mentions, triples, causal claims and times."""
