"""The graph projection: one protocol, an engine on Kuzu and one in memory, and the snapshot."""
