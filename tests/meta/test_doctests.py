"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
from pathlib import Path

import pytest

from tests.meta.tree import label, source_files

WITH_EXAMPLES = {
    path: name for path, name in source_files().items() if ">>> " in path.read_text("utf-8")
}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=label)
def test_the_examples_of_a_module_are_true(path: Path) -> None:
    module = importlib.import_module(WITH_EXAMPLES[path])
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.attempted
    assert not result.failed
