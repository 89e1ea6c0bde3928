"""The remembered configuration is the one that the files give, at any time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from popkit_retention.core.config import layers
from popkit_retention.core.config.cached import effective, sweep_cached
from popkit_retention.core.handlers import session_events
from popkit_retention.core.policy.models import models_of


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
        assert effective(*places) == layers.load(*places)
        return effective(*places)

    assert agree()["pins"] == ["a"]
    write(home, {"pins": ["b"]})
    assert agree()["pins"] == ["b"]
    write(project, {"pins": ["c"]}, ".claude/retention-config.json")
    assert agree()["pins"] == ["b", "c"]
    write(project, {"pins": ["d"]}, ".claude/retention-config.json")
    assert agree()["pins"] == ["b", "d"]
    (Path(project) / ".claude/retention-config.json").unlink()
    assert agree()["pins"] == ["b"]


def test_models_are_those_of_the_files_whether_or_not_they_are_remembered(places):
    _root, home, _project = places
    for price in (7, 8):
        write(home, {"models": {"dated": "2026-11", "by_id": {"claude-own-1": {"input": price}}}})
        for _ in range(2):
            models = models_of(effective(*places))
            assert (models.dated, models.model("claude-own-1").input_usd) == ("2026-11", price)


def test_projects_do_not_share_what_is_remembered(places, tmp_path):
    root, home, project = places
    write(project, {"pins": ["here"]}, ".claude/retention-config.json")
    assert effective(root, home, project)["pins"] == ["a", "here"]
    assert effective(root, home, str(tmp_path / "elsewhere"))["pins"] == ["a"]
    assert effective(root, home, "")["pins"] == ["a"]


@pytest.mark.parametrize("corrupt", ["", "{", "[]", "[1,2,3]", "null", '[[],[],{"pins":["forged"]}]', "\xff"])
def test_a_corrupt_cache_is_passed_over(places, corrupt):
    _root, home, _project = places
    expected = effective(*places)
    (cache,) = (Path(home) / "cache").iterdir()
    cache.write_text(corrupt, encoding="latin-1")
    assert effective(*places) == expected


def test_where_nothing_can_be_written_the_files_are_read(places, tmp_path):
    root, _home, project = places
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert effective(root, str(in_the_way), project)["pins"] == ["a"]


def test_reading_the_configuration_makes_no_home(places, tmp_path):
    root, _home, project = places
    for _ in range(2):
        assert effective(root, str(tmp_path / "deleted"), project)["pins"] == ["a"]
    assert not (tmp_path / "deleted").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_in_place_of_any_file_keeps_no_hook_waiting(places):
    _root, home, project = places
    expected = effective(*places)
    (cache,) = (Path(home) / "cache").iterdir()
    cache.unlink()
    for pipe in (cache, Path(home) / "retention-config.json", Path(project) / ".claude/retention-config.json"):
        os.mkfifo(pipe)
    assert effective(*places) == expected
    assert cache.is_file()


def make(home: str, name: str, at: float) -> Path:
    path = Path(home) / "cache" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    os.utime(path, (at, at))
    return path


DAY = 86_400.0


def test_a_remembered_configuration_goes_a_month_after_it_was_made(places):
    home = places[1]
    old, young, other = (make(home, name, at) for name, at in (("config-a.jsonl", 0), ("config-b.jsonl", DAY), ("else.json", 0)))
    assert sweep_cached(home, 30.5 * DAY) == 1
    assert [path.exists() for path in (old, young, other)] == [False, True, True]


def test_they_go_a_few_at_a_time(places):
    home = places[1]
    for number in range(7):
        make(home, f"config-{number}.jsonl", 0)
    assert [sweep_cached(home, 40 * DAY, 3) for _ in range(4)] == [3, 3, 1, 0]


def test_a_project_that_is_still_worked_in_is_remembered_again(places):
    expected = effective(*places)
    assert sweep_cached(places[1], 4e9) == 1
    assert effective(*places) == expected
    assert len(list((Path(places[1]) / "cache").iterdir())) == 1


def test_where_nothing_is_remembered_nothing_goes(places, tmp_path):
    assert sweep_cached(str(tmp_path / "nowhere"), 4e9) == 0
    (Path(places[1]) / "cache" / "config-folder.jsonl").mkdir(parents=True)
    assert sweep_cached(places[1], 4e9) == 0


def test_the_start_of_a_session_sweeps(places):
    home, project = places[1:]
    old = make(home, "config-a.jsonl", 0)
    session_events.start({"session_id": "s", "cwd": project, "source": "startup"}, {"POPKIT_HOME": home, "CLAUDE_PROJECT_DIR": project})
    assert not old.exists()
