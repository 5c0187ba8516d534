"""Tests of cases."""
