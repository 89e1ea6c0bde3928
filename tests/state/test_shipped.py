"""The models of need that come with the plugin are the ones that hold."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.policy.need_model import FEATURES
from popkit_retention.core.state import shipped


@pytest.mark.parametrize(("name", "read"), [("need-model", shipped.need_model), ("need-soon-model", shipped.need_soon_model)])
def test_they_are_what_their_files_say(repo_root, name, read) -> None:
    plain = json.loads((repo_root / "hooks" / "utils" / "data" / f"{name}.json").read_text())
    weights = read().weights
    assert weights == plain["weights"]
    assert weights.keys() <= set(FEATURES)


def test_the_models_that_come_with_the_plugin_are_those_of_its_rules() -> None:
    alone, of_rules = (models.model("claude-opus-4-8") for models in (shipped.models(), shipped.rules().models))
    assert (alone.read, alone.window) == (of_rules.read, of_rules.window)
    assert alone.read > 0
