"""Graph traversal: pure functions over an adjacency protocol."""
