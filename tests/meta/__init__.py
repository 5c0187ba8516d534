"""Tests of the repository itself: layout, packaging, imports, pinned weights."""
