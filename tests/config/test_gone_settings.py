"""A setting that PopKit had does nothing; whoever has it in a file hears once what stands in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.cli.config_problems import check_document
from popkit_retention.core.config import GONE, gone, layers
from popkit_retention.core.state.told_once import is_news

VALUES = {"keep_warm": "on", "keep_warm_requests": 3, "keep_warm_usd": 0.5}


@pytest.mark.parametrize(("name", "value"), VALUES.items(), ids=VALUES)
def test_a_setting_that_is_gone_is_ignored_and_known_by_its_name(name: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "retention-config.json").write_text(json.dumps({"retention": {name: value, "hints": "on"}}))
    config = layers.load(None, str(tmp_path), None)
    assert (config[GONE], name in config, config["hints"]) == ([name], False, "on")
    (problem,) = check_document({"retention": {name: value}}, "mine.json", "user")
    assert problem.hint == gone.SETTINGS[name]


def test_it_is_told_once_in_a_home(tmp_path: Path) -> None:
    assert [is_news(str(tmp_path), "keep_warm") for _ in range(2)] == [True, False]
    assert is_news(str(tmp_path), "keep_warm_usd")
