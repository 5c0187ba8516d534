"""Frozen models: items, operations, extraction candidates, scope and results."""
