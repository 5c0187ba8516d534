"""Embedders: text to unit vectors. The models are loaded only when asked for."""

from graphmem.embed.base import Embedder, EmbedderIdentity, load_embedder

__all__ = ["Embedder", "EmbedderIdentity", "load_embedder"]
