"""Tests of the graph projection."""
