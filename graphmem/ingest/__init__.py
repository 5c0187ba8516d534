"""From files and texts to operations: readers, passages, assembling, the pipeline, ``remember``."""

from graphmem.ingest.chunk import chunk
from graphmem.ingest.document import ReadDocument, Section
from graphmem.ingest.files import read_file
from graphmem.ingest.pipeline import Ingestor, embed_batch, embed_pending
from graphmem.ingest.project import Project, display_name, find_project, normalise_remote
from graphmem.ingest.remember import remember
from graphmem.ingest.same_event import same_event_operations
from graphmem.model.inputs import CauseInput, FactInput, Progress, ProgressEvent

__all__ = [
    "CauseInput",
    "FactInput",
    "Ingestor",
    "Progress",
    "ProgressEvent",
    "Project",
    "ReadDocument",
    "Section",
    "chunk",
    "display_name",
    "embed_batch",
    "embed_pending",
    "find_project",
    "normalise_remote",
    "read_file",
    "remember",
    "same_event_operations",
]
