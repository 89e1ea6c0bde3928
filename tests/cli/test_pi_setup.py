"""`popkit setup pi`: pi's settings are changed on the user's word alone, and nothing else of them than our line."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.played import ROOT, Played

SPEC = str(ROOT / "power-mode" / "pi")
MINE = '{\n\t"defaultModel": "claude-opus-4-8",\n\t"extensions": ["./own.ts", "-builtin:mcp"],\n\n\t"quietStartup":  true\n}\n'


@pytest.fixture
def settings(played: Played) -> Path:
    """The user's settings, which are not there yet."""
    path = played.user / ".pi" / "agent" / "settings.json"
    path.parent.mkdir(parents=True)
    return path


def says(done: subprocess.CompletedProcess, words: object) -> bool:
    """Whether it printed these words, wherever lines were broken."""
    return "".join(str(words).split()) in "".join((done.stdout + done.stderr).split())


def test_it_makes_settings_where_there_are_none_and_undo_takes_them_away(played: Played) -> None:
    done = played.run("setup", "pi", "--yes")
    path = played.user / ".pi" / "agent" / "settings.json"
    assert (done.returncode, done.stderr) == (0, "")
    assert f'+  "extensions": [\n+    "{SPEC}"\n+  ]' in done.stdout
    assert done.stdout.endswith(f"PopKit is in {path}. Start pi again to load it.\n")
    assert json.loads(path.read_text()) == {"extensions": [SPEC]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert says(played.run("setup", "pi", "--yes"), f"PopKit is already in {path}.")
    assert says(played.run("setup", "pi", "--undo", "--yes"), f"PopKit is no longer in {path}.")
    assert not path.exists()
    assert not (played.home / "pi.previous.json").exists()


def test_it_adds_one_entry_and_undo_gives_back_every_byte(played: Played, settings: Path) -> None:
    settings.write_text(MINE)
    assert played.run("setup", "pi", "--yes").returncode == 0
    assert json.loads(settings.read_text())["extensions"] == ["./own.ts", "-builtin:mcp", SPEC]
    assert settings.read_text().endswith('],\n\n\t"quietStartup":  true\n}\n')
    assert played.run("setup", "pi", "--undo", "--yes").returncode == 0
    assert settings.read_text() == MINE


def test_nothing_changes_without_the_users_word(played: Played, settings: Path) -> None:
    settings.write_text(MINE)
    done = played.run("setup", "pi")
    assert done.returncode == 1
    assert says(done, "Nothing was changed. --yes skips the question.")
    assert settings.read_text() == MINE


def test_additions_by_others_stay(played: Played, settings: Path) -> None:
    played.run("setup", "pi", "--yes")
    settings.write_text(json.dumps({"theme": "dark", "extensions": [SPEC, "theirs.ts"]}))
    played.run("setup", "pi", "--undo", "--yes")
    assert json.loads(settings.read_text()) == {"theme": "dark", "extensions": ["theirs.ts"]}


def test_an_earlier_place_of_ours_is_replaced(played: Played, settings: Path) -> None:
    settings.write_text(json.dumps({"extensions": ["/gone/popkit/power-mode/pi/index.ts"]}))
    assert says(played.run("doctor"), "names an extension that no longer exists")
    played.run("setup", "pi", "--yes")
    assert json.loads(settings.read_text()) == {"extensions": [SPEC]}
    assert says(played.run("doctor"), f"the extension is in {settings}")


@pytest.mark.parametrize("text", ['{"extensions": "x"}', '{"extensions": [}', "// mine\n{}"])
def test_settings_that_are_not_understood_are_left_alone(played: Played, settings: Path, text: str) -> None:
    settings.write_text(text)
    done = played.run("setup", "pi", "--yes")
    assert done.returncode == 1
    assert says(done, "is left alone, because")
    assert settings.read_text() == text


def test_a_project_has_settings_of_its_own_and_uninstall_takes_us_out_of_all(played: Played, settings: Path) -> None:
    played.run("setup", "pi", "--yes")
    played.run("setup", "pi", "--scope", "project", "--yes")
    ours = played.project / ".pi" / "settings.json"
    assert json.loads(ours.read_text()) == {"extensions": [SPEC]}
    assert played.run("uninstall", "--yes").returncode == 0
    assert not ours.exists()
    assert not settings.exists()
