"""Serving a vault to other programs."""
