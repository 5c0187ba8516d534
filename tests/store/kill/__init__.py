"""Killing a writer again and again: its batches, the writer, the plan, and the checks."""
