"""Tests of graphmem.retrieve."""
