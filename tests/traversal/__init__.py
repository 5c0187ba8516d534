"""Tests of graphmem.traversal."""
