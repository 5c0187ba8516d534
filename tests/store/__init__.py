"""Tests of the store: journal, index, views, writer, vault and dumps."""
