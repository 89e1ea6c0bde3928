"""The model of need that comes with the plugin is the one that holds."""

from __future__ import annotations

import json

from hooks.utils.policy.need import FEATURES
from hooks.utils.state import shipped


def test_it_is_what_its_file_says(repo_root) -> None:
    plain = json.loads((repo_root / "hooks" / "utils" / "data" / "need-model.json").read_text())
    weights = shipped.need_model().weights
    assert weights == plain["weights"]
    assert weights.keys() <= set(FEATURES)
