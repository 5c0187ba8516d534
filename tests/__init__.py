"""Tests of graphmem; they mirror its packages."""
