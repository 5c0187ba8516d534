"""Looking after a vault from outside of it: what ``graphmem doctor`` sees."""

from graphmem.care.doctor import diagnose

__all__ = ["diagnose"]
