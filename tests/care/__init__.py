"""Tests of care."""
