"""The remembered configuration is the one that the files give, at any time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.config import layers, remembered


@pytest.fixture
def places(tmp_path):
    """Plugin folder, our folder and a project, each with room for a file."""
    for name in ("root/power-mode", "home", "project/.claude"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "root/retention-config.json").write_text(json.dumps({"retention": {"profile": "spec", "pins": ["a"]}}))
    return [str(tmp_path / name) for name in ("root", "home", "project")]


def write(folder: str, retention: dict, name: str = "retention-config.json") -> None:
    (Path(folder) / name).write_text(json.dumps({"retention": retention}))


def test_a_file_that_is_made_changed_or_removed_counts_at_once(places):
    _root, home, project = places

    def agree() -> dict:
        assert remembered.effective(*places) == layers.load(*places)
        return remembered.effective(*places)

    assert agree()["pins"] == ["a"]
    write(home, {"pins": ["b"]})
    assert agree()["pins"] == ["b"]
    write(project, {"pins": ["c"]}, ".claude/retention-config.json")
    assert agree()["pins"] == ["b", "c"]
    write(project, {"pins": ["d"]}, ".claude/retention-config.json")
    assert agree()["pins"] == ["b", "d"]
    (Path(project) / ".claude/retention-config.json").unlink()
    assert agree()["pins"] == ["b"]


def test_projects_do_not_share_what_is_remembered(places, tmp_path):
    root, home, project = places
    write(project, {"pins": ["here"]}, ".claude/retention-config.json")
    assert remembered.effective(root, home, project)["pins"] == ["a", "here"]
    assert remembered.effective(root, home, str(tmp_path / "elsewhere"))["pins"] == ["a"]
    assert remembered.effective(root, home, "")["pins"] == ["a"]


@pytest.mark.parametrize("spoilt", ["", "{", "[]", "[1,2,3]", "null", '[[],[],{"pins":["forged"]}]', "\xff"])
def test_a_spoilt_cache_is_passed_over(places, spoilt):
    _root, home, _project = places
    expected = remembered.effective(*places)
    (cache,) = (Path(home) / "cache").iterdir()
    cache.write_text(spoilt, encoding="latin-1")
    assert remembered.effective(*places) == expected


def test_where_nothing_can_be_written_the_files_are_read(places, tmp_path):
    root, _home, project = places
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert remembered.effective(root, str(in_the_way), project)["pins"] == ["a"]
