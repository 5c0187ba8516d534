"""Lanes: ranked lists of passages that fusion combines. None raises on finding nothing."""
