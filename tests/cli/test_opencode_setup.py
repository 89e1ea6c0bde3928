"""`popkit setup opencode`: OpenCode's configuration is changed on the user's word alone, and nothing else of it than our line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.cli import json_text
from popkit_retention.opencode import configuration
from tests.cli.played import ROOT, Played

SPEC = (ROOT / "power-mode" / "opencode").as_uri()
MINE = '{\n\t"model": "anthropic/claude-opus-4-8",\n\t"plugin": ["theirs@1.2.3", ["./own.ts", {"a": 1}]],\n\n\t"share":  "disabled"\n}\n'


@pytest.fixture
def config(played: Played) -> Path:
    """The user's configuration, which is not there yet."""
    path = played.user / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True)
    return path


def says(done: subprocess.CompletedProcess, words: object) -> bool:
    """Whether it printed these words, wherever lines were broken."""
    return "".join(str(words).split()) in "".join((done.stdout + done.stderr).split())


def plugins(path: Path) -> list:
    return json.loads(path.read_text())["plugin"]


def test_it_makes_a_configuration_where_there_is_none(played: Played) -> None:
    done = played.run("setup", "opencode", "--yes")
    path = played.user / ".config" / "opencode" / "opencode.json"
    assert (done.returncode, done.stderr) == (0, "")
    assert f'+  "plugin": [\n+    "{SPEC}"\n+  ]' in done.stdout
    pane = path.with_name("tui.json")
    assert done.stdout.endswith(f"PopKit is in {path} and {pane}. Start OpenCode again to load it.\n")
    for file in (path, pane):
        assert json.loads(file.read_text()) == {"plugin": [SPEC]}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_adds_one_entry_and_leaves_the_rest_and_undo_gives_back_what_was_there(played: Played, config: Path) -> None:
    config.write_text(MINE)
    config.chmod(0o644)
    assert played.run("setup", "opencode", "--yes").returncode == 0
    assert plugins(config) == ["theirs@1.2.3", ["./own.ts", {"a": 1}], SPEC]
    assert config.read_text().startswith('{\n\t"model": "anthropic/claude-opus-4-8",\n\t"plugin": [')
    assert config.read_text().endswith('],\n\n\t"share":  "disabled"\n}\n')
    assert stat.S_IMODE(config.stat().st_mode) == 0o644
    assert played.run("setup", "opencode", "--undo", "--yes").returncode == 0
    assert config.read_text() == MINE
    assert stat.S_IMODE(config.stat().st_mode) == 0o644
    assert not (played.home / "opencode.previous.json").exists()


@pytest.mark.parametrize("mine", ["", "{}", "{ }\r\n", '{"plugin": []}', '{"plugin":["theirs" , "a"]}', '\ufeff{"model":"x"}', MINE])
def test_undo_gives_back_every_byte_of_a_file_that_was_there(played: Played, config: Path, mine: str) -> None:
    config.write_bytes(mine.encode())
    played.run("setup", "opencode", "--yes")
    assert SPEC in config.read_text()
    played.run("setup", "opencode", "--undo", "--yes")
    assert config.read_bytes() == mine.encode()


def test_a_file_that_it_made_goes_with_what_opencode_puts_into_every_file(played: Played, config: Path) -> None:
    played.run("setup", "opencode", "--yes")
    config.write_text(json.dumps({"$schema": "https://opencode.ai/config.json", **json.loads(config.read_text())}))
    played.run("setup", "opencode", "--undo", "--yes")
    assert not config.exists()


def test_additions_by_others_to_a_file_stay(played: Played, config: Path) -> None:
    played.run("setup", "opencode", "--yes")
    config.write_text(json.dumps({"model": "x", "plugin": ["theirs", SPEC]}))
    played.run("setup", "opencode", "--undo", "--yes")
    assert json.loads(config.read_text()) == {"model": "x", "plugin": ["theirs"]}


def test_an_undo_keeps_nothing_of_the_file_even_if_somebody_took_the_plugin_out(played: Played, config: Path) -> None:
    config.write_text('{"model":"x"}')
    played.run("setup", "opencode", "--yes")
    config.write_text('{"model":"y"}')
    played.run("setup", "opencode", "--undo", "--yes")
    assert config.read_text() == '{"model":"y"}'
    assert not (played.home / "opencode.previous.json").exists()


def test_a_text_that_no_file_can_hold_is_not_put_back(played: Played, config: Path) -> None:
    played.run("setup", "opencode", "--yes")
    kept = json.loads((played.home / "opencode.previous.json").read_text())
    kept[str(config)]["before"] = "\ud800"
    (played.home / "opencode.previous.json").write_text(json.dumps(kept))
    assert played.run("setup", "opencode", "--undo", "--yes").returncode == 0
    assert json.loads(config.read_text()) == {}


def test_a_second_setup_does_not_lose_what_was_there_before_the_first(played: Played, config: Path) -> None:
    config.write_text('{"plugin":["theirs"]}')
    played.run("setup", "opencode", "--yes")
    kept = json.loads((played.home / "opencode.previous.json").read_text())
    old = config.read_text().replace(SPEC, "file:///old/power-mode/opencode")
    config.write_text(old)
    kept[str(config)]["after"] = hashlib.sha256(old.encode()).hexdigest()
    (played.home / "opencode.previous.json").write_text(json.dumps(kept))
    played.run("setup", "opencode", "--yes")
    assert plugins(config) == ["theirs", SPEC]
    played.run("setup", "opencode", "--undo", "--yes")
    assert config.read_text() == '{"plugin":["theirs"]}'


def test_it_shows_the_change_and_changes_nothing_unless_somebody_agrees(played: Played, config: Path) -> None:
    config.write_text(MINE)
    done = played.run("setup", "opencode")
    assert done.returncode == 1
    assert SPEC in done.stdout
    assert "Nothing was changed. --yes skips the question." in done.stdout
    assert config.read_text() == MINE


def test_done_twice_it_says_that_it_is_there_and_undone_twice_that_it_is_not(played: Played, config: Path) -> None:
    played.run("setup", "opencode", "--yes")
    both = f"{config} and {config.with_name('tui.json')}"
    assert played.run("setup", "opencode").stdout == f"PopKit is already in {both}.\n"
    played.run("setup", "opencode", "--undo", "--yes")
    assert played.run("setup", "opencode", "--undo").stdout == f"PopKit is not in {both}, so nothing was changed.\n"
    assert not config.exists()
    assert not config.with_name("tui.json").exists()


def test_the_entry_of_another_folder_is_replaced(played: Played, config: Path) -> None:
    old = ["file:///old/popkit/power-mode/opencode", {"command": "/old/bin/popkit"}]
    config.write_text(json.dumps({"plugin": ["theirs", old]}))
    assert played.run("setup", "opencode", "--yes").returncode == 0
    assert plugins(config) == ["theirs", SPEC]


@pytest.mark.parametrize("name", ["opencode.json", "opencode.jsonc"])
def test_a_project_has_a_configuration_of_its_own(played: Played, config: Path, name: str) -> None:
    (played.project / name).write_text('{"model": "x"}')
    assert played.run("setup", "opencode", "--scope", "project", "--yes").returncode == 0
    assert (played.project / name).read_text() == f'{{"model": "x","plugin": ["{SPEC}"]}}'
    assert not config.exists()


def test_where_the_configuration_is_a_link_what_it_leads_to_is_changed(played: Played, config: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.json").write_text("{}")
    config.symlink_to(tmp_path / "dotfiles.json")
    assert played.run("setup", "opencode", "--yes").returncode == 0
    assert config.is_symlink()
    assert plugins(tmp_path / "dotfiles.json") == [SPEC]


LEFT_ALONE = {
    "comments": ('{\n  // mine\n  "model": "x"\n}\n', "it has comments, or is broken"),
    "comments, and no plugin": ('{ /* mine */ "plugin": [] }', "it has comments, or is broken"),
    "a comma too many": ('{"model": "x",}', "it is not valid JSON"),
    "cut short": ('{"plugin": ["a"', "it is not valid JSON"),
    "no object": ("[1]", "it is not a JSON object"),
    "twice": ('{"plugin": [], "plugin": ["a"]}', 'it has "plugin" twice'),
    "no list": ('{"plugin": "theirs"}', 'its "plugin" is not a list'),
    "deep": ("[" * 100_000, "it is not valid JSON"),
    "not UTF-8": ('{"plugin": ["\udcff"]}', "it is not UTF-8"),
}


@pytest.mark.parametrize("what", LEFT_ALONE)
@pytest.mark.parametrize("undo", [[], ["--undo"]])
def test_a_configuration_that_is_not_understood_is_left_alone_and_named(played: Played, config: Path, what: str, undo: list[str]) -> None:
    text, why = LEFT_ALONE[what]
    config.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = played.run("setup", "opencode", "--yes", *undo)
    assert done.returncode == 1
    assert says(done, f"{config} is left alone")
    assert says(done, why)
    assert config.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_of_a_commented_file_it_says_what_to_add(played: Played, config: Path) -> None:
    config.write_text(LEFT_ALONE["comments"][0])
    assert says(played.run("setup", "opencode", "--yes"), f'Add this to it: "plugin": ["{SPEC}"]')


def test_one_file_is_changed_even_if_the_other_has_to_be_left_alone(played: Played, config: Path) -> None:
    config.with_name("tui.json").write_text("{ // mine\n}")
    done = played.run("setup", "opencode", "--yes")
    assert done.returncode == 1
    assert says(done, "tui.json is left alone, because it has comments")
    assert plugins(config) == [SPEC]


def test_opencode_moves_a_theme_into_its_tui_json_before_there_is_one_of_ours(played: Played, config: Path) -> None:
    config.write_text('{"theme": "nord"}')
    assert says(played.run("setup", "opencode", "--yes"), "Start OpenCode, then try again")
    assert plugins(config) == [SPEC]
    assert not config.with_name("tui.json").exists()
    config.with_name("tui.json").write_text('{"theme": "nord"}')  # it has
    assert played.run("setup", "opencode", "--yes").returncode == 0
    assert json.loads(config.with_name("tui.json").read_text()) == {"theme": "nord", "plugin": [SPEC]}


def test_a_pipe_in_its_place_keeps_nobody_waiting(played: Played, config: Path) -> None:
    os.mkfifo(config)
    done = played.popkit("setup", "opencode", "--yes")
    assert done.returncode == 1
    assert says(done, "not a regular file")


def test_a_folder_that_cannot_be_made_is_named_in_a_line(played: Played) -> None:
    (played.user / ".config").write_text("")
    done = played.run("setup", "opencode", "--yes")
    assert done.returncode == 1
    assert says(done, "popkit setup: ")
    assert "Errno" not in done.stderr


@pytest.mark.parametrize("words", [["opencode", "--json"], ["tokens", "--undo"], ["tokens", "--scope", "project"], ["--yes"]])
def test_flags_without_a_meaning_here_are_refused(played: Played, words: list[str]) -> None:
    done = played.run("setup", *words)
    assert done.returncode == 1
    assert says(done, "popkit setup opencode")


def test_the_list_and_doctor_say_where_it_is(played: Played, config: Path) -> None:
    assert "opencode    not set up" in played.run("setup").stdout
    assert "OpenCode" not in played.run("doctor").stdout
    played.run("setup", "opencode", "--yes")
    assert "opencode    ready" in played.run("setup").stdout
    doctor = played.run("doctor")
    assert says(doctor, f"OpenCode: the plugin is in {config} and {config.with_name('tui.json')}")
    assert not says(doctor, "no claude on PATH"), "nobody misses Claude Code where OpenCode alone is there"


def test_doctor_says_what_to_do_about_a_plugin_that_is_gone(played: Played, config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "power-mode" / "opencode"
    other.mkdir(parents=True)
    config.write_text(json.dumps({"plugin": [other.as_uri()]}))
    assert says(played.run("doctor"), "names the plugin of another PopKit")
    shutil.rmtree(other)
    gone = played.run("doctor")
    assert says(gone, "names a plugin that no longer exists")
    assert says(gone, "Run popkit setup opencode.")


def test_doctor_says_which_half_is_missing(played: Played, config: Path) -> None:
    played.run("setup", "opencode", "--yes")
    config.with_name("tui.json").unlink()
    assert says(played.run("doctor"), "tui.json does not name PopKit, so the pane and the line in the sidebar are missing")


def test_uninstall_takes_it_out(played: Played, config: Path) -> None:
    config.write_text(MINE)
    played.run("setup", "opencode", "--yes")
    assert played.run("uninstall", "--yes").returncode == 0
    assert config.read_text() == MINE
    assert not config.with_name("tui.json").exists()


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
)
entries = st.one_of(words, st.tuples(words, st.dictionaries(words, st.integers(), max_size=2)).map(list))


@given(
    st.dictionaries(words.filter(lambda name: name != "plugin"), values, max_size=4),
    st.lists(entries, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_whatever_else_is_configured_stays_and_undo_is_the_inverse(other: dict, theirs: list, indent: object) -> None:
    before = json.dumps({**other, "plugin": theirs}, indent=indent, ensure_ascii=False)  # type: ignore[arg-type]
    there = json_text.with_value(before, "plugin", json_text.formatted(before, [*theirs, configuration.spec()]))
    assert json.loads(there) == {**other, "plugin": [*theirs, SPEC]}
    assert [plugin for plugin in json.loads(there)["plugin"] if not configuration.is_ours(plugin)] == theirs
