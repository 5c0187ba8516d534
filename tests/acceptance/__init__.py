"""Acceptance tests: what a user is promised, end to end."""
