"""The files of a context: what is written to each, what is read back of it, and what is set aside."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import journal, lazy_rows, store
from tests.policy.scenario import Scenario


@pytest.fixture
def paths(tmp_path: Path) -> store.ContextFiles:
    return store.ContextFiles(str(tmp_path), "s1")


def worked() -> Scenario:
    """A context with two live files, a run, and a read that an edit ended."""
    scenario = Scenario()
    scenario.read("a.py")
    scenario.read("b.py", text="é\nother")
    scenario.bash("npm test", "1 passing")
    scenario.read("c.py")
    scenario.edit("c.py")
    return scenario


def save(paths: store.ContextFiles, scenario: Scenario, rests: bool = False) -> store.StoredState:
    stored = store.StoredState(scenario.state)
    with paths.locked():
        store.save(paths, stored, scenario.rules if rests else None)
    return stored


# --- where they lie --------------------------------------------------------------------------------------------------------------------


def test_every_context_of_a_session_has_files_of_its_own(tmp_path: Path) -> None:
    main, agent = store.ContextFiles(str(tmp_path), "s1"), store.ContextFiles(str(tmp_path), "s1", "a/1")
    assert main.folder == agent.folder == str(tmp_path / "sessions" / "s1")
    endings = ("state.json", "expired.jsonl", "journal.jsonl", "receipts.jsonl", "lock", "unarchived.json")
    for paths, stem in ((main, "main"), (agent, Path(agent.lock).name.removesuffix(".lock"))):
        of = (paths.state, paths.expired, paths.journal, paths.receipts, paths.lock, paths.unarchived)
        assert [Path(path).name for path in of] == [f"{stem}.{ending}" for ending in endings]
        assert {str(Path(path).parent) for path in of} == {paths.folder}
    assert Path(agent.lock).name.startswith("agent-")
    assert (main.session_id, main.agent_id, main.is_held, agent.agent_id) == ("s1", "", False, "a/1")


def test_where_nothing_may_be_kept_nothing_is_written(tmp_path: Path) -> None:
    paths = store.ContextFiles(str(tmp_path), "s1", is_held=True)
    for writes in (paths.locked, lambda: store.journal(paths, journal.resumed(1.0)), lambda: store.append(paths, paths.receipts, {})):
        with pytest.raises(OSError, match="data rule, so nothing of it is kept") as raised:
            writes()
        assert raised.value.errno == 30
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writes", ["locked", "journal"])
def test_no_folder_is_written_through_a_link(paths: store.ContextFiles, tmp_path: Path, writes: str) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "elsewhere").mkdir()
    Path(paths.folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        paths.locked() if writes == "locked" else store.journal(paths, journal.resumed(1.0))
    assert list((tmp_path / "elsewhere").iterdir()) == []


# --- lines -----------------------------------------------------------------------------------------------------------------------------


def test_an_entry_is_a_line_in_a_private_file_of_its_own_behind_the_others(paths: store.ContextFiles) -> None:
    store.journal(paths, journal.resumed(1.0))
    store.append(paths, paths.receipts, {"at": 1.5})
    store.journal(paths, journal.over(2.0))
    assert Path(paths.journal).read_text() == '{"event":"resumed","at":1.0}\n{"event":"over","at":2.0}\n'
    assert Path(paths.receipts).read_text() == '{"at":1.5}\n'
    assert [stat.S_IMODE(Path(path).stat().st_mode) for path in (paths.folder, paths.journal)] == [0o700, 0o600]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("\n\n", []),
        ("1\n2\n", [1, 2]),
        ('{"a":1}\n\n[2]', [{"a": 1}, [2]]),
        ('1\n{"a":\n2\n', [1, 2]),
        ("1\nnull\n2", [1, None, 2]),
        ("1,2\n3\n", [3]),
        ("1],[2\n3\n", [3]),
        ("x", []),
    ],
)
def test_the_lines_of_a_file_are_its_values_but_for_what_is_no_json(tmp_path: Path, text: str, values: list[object]) -> None:
    (tmp_path / "lines").write_text(text)
    assert store.read_lines(str(tmp_path / "lines")) == values
    assert store.read_lines(str(tmp_path / "none")) == []


@given(st.lists(st.sampled_from(['{"a":1}', "1,2", "[", "7", "", "],[", "null", '"x']), max_size=6))
def test_lines_say_the_same_whether_a_kill_has_cut_one_short_or_not(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "lines"

    def read(lines: list[str]) -> list[object]:
        path.write_text("\n".join(lines))
        return store.read_lines(str(path))

    assert read(lines) == [value for line in lines for value in read([line])] == read([*lines, '{"cut'])


# --- the state -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rests", [False, True])
def test_a_state_has_a_line_for_each_file_and_result_and_is_read_back(paths: store.ContextFiles, rests: bool) -> None:
    scenario = worked()
    stored = store.StoredState(scenario.state)
    for name in ("/p/a.py", "/p/b.py", "/p/gone.py"):
        stored.watched.see(name, [1, 2])
    with paths.locked():
        store.save(paths, stored, scenario.rules if rests else None)
    lines = Path(paths.state).read_text().split("\n")
    assert [line.partition(":")[0] for line in lines[1:3]] == ['"/p/a.py"', '"/p/b.py"'], "only files that a live read shows are watched"
    assert lines[0].endswith(',"watched":{')
    assert [line.partition(",")[0] for line in lines[4:-1]] == ['["T1"', '["T2"', '["T3"', '["T5"']
    assert [line[-1] for line in lines[4:-1]] == [",", ",", ",", "]"]
    assert (lines[3], lines[-1]) == ('},"live":[', "]}")
    header = json.loads(lines[0].removesuffix(',"watched":{') + "}")
    signed = [lazy_rows.signature(scenario.rules), lazy_rows.awake(scenario.state, scenario.rules)]
    assert header.get("resting") == (json.loads(json.dumps(signed)) if rests else None)
    for read in (store.load(paths), store.read_unlocked(paths)):
        assert read is not None
        assert shared_facts(read.state) == shared_facts(scenario.state)
        assert [f'["{id}",' for id in read.state.live] == [result.stored[: len(id) + 4] for id, result in read.state.live.items()]
        assert (sorted(read.watched.first()), read.rows) == (["/p/a.py", "/p/b.py"], None)
    assert json.loads(Path(paths.expired).read_text())[:2] == [scenario.state.epoch, "T4"]


def test_a_line_that_was_read_is_written_back_as_it_was(paths: store.ContextFiles) -> None:
    save(paths, worked())
    before = Path(paths.state).read_text()
    stored = store.load(paths)
    assert stored is not None
    for result in stored.state.live.values():
        assert json.loads(result.stored) == json.loads(json.dumps(result.to_row()))
    with paths.locked():
        store.save(paths, stored)
    assert Path(paths.state).read_text() == before


def test_a_file_that_was_edited_by_hand_is_read_all_the_same(paths: store.ContextFiles) -> None:
    save(paths, worked())
    value = json.loads(Path(paths.state).read_text())
    two_in_a_line = Path(paths.state).read_text().replace(',\n["T2",', ',["T2",').replace('["T3",', '["T3",\n')
    for text in (json.dumps(value), json.dumps(value, indent=1), two_in_a_line):
        Path(paths.state).write_text(text)
        stored = store.load(paths, 1)
        assert stored is not None
        assert (list(stored.state.live), stored.rows) == (["T1", "T2", "T3", "T5"], None)
        assert not any(result.stored for result in stored.state.live.values())


@pytest.mark.parametrize(
    ("rest_from", "changed", "rests"),
    [
        (0, None, False), (1, None, True), (-1, None, True), (+1, None, False), (1, ("]\n]}", "]\n]} "), False),
        (1, ('"resting":[', '"resting":[1,'), False), (1, ('"resting":[', '"resting":3,"other":['), False), (1, ("1 passing", "ü"), False),
        (1, ('"resting":[', '"resting":[[],7],"other":['), False), (1, ('"watched":{', '"watched": {'), False),
        (1, ('\n},"live":[', '},"live":['), False),
    ],
)  # fmt: skip
def test_rows_rest_in_a_large_file_that_is_laid_out_as_it_was_saved(
    paths: store.ContextFiles, rest_from: int, changed: tuple[str, str] | None, rests: bool
) -> None:
    scenario = worked()
    scenario.bash("npm run 1 passing", "x")
    save(paths, scenario, rests=True)
    path = Path(paths.state)
    if changed is not None:
        text = path.read_text()
        assert changed[0] in text
        path.write_text(text.replace(*changed), encoding="utf-8")
    size = path.stat().st_size
    stored = store.load(paths, {-1: size, 1: 1 if rests or changed else size + 1}.get(rest_from, rest_from))
    assert stored is not None
    assert (stored.rows is not None) == rests
    if stored.rows is not None:
        stored.rows.open(stored.state, scenario.rules)
    assert list(stored.state.live) == ["T1", "T2", "T3", "T6"]


@pytest.mark.parametrize("text", ["", "[", "3", "null", "{}", '{"index":"x"}', '{"live":[[1]]}'])
def test_a_corrupt_state_is_none_and_stands_aside_once_it_is_loaded(paths: store.ContextFiles, text: str) -> None:
    save(paths, worked())
    Path(paths.state).write_text(text)
    assert store.read_unlocked(paths) is None
    assert Path(paths.state).exists()
    assert store.load(paths) is None
    assert (Path(paths.state).exists(), Path(paths.state + ".corrupt").read_text()) == (False, text)
    assert store.load(paths) is None


def test_without_a_state_there_is_none(paths: store.ContextFiles) -> None:
    assert (store.load(paths), store.read_unlocked(paths)) == (None, None)


@pytest.mark.parametrize(
    ("error", "said", "aside"),
    [(None, 1, False), (OSError(), 1, False), (KeyError(), 1, True), (KeyError(), None, True), (KeyError(), "so", False)],
)
def test_a_corrupt_state_over_which_a_hook_fails_is_set_aside(
    paths: store.ContextFiles, error: Exception | None, said: object, aside: bool
) -> None:
    save(paths, worked())
    path = Path(paths.state)
    value = {**json.loads(path.read_text()), "recent": {"T1": said}}
    path.write_text(json.dumps(value) if said is not None else "[")
    with contextlib.suppress(OSError, KeyError), paths.locked():
        if error:
            raise error
    assert (not path.exists(), Path(paths.state + ".corrupt").exists()) == (aside, aside)


def test_a_hook_that_fails_before_there_is_a_state_leaves_none(paths: store.ContextFiles) -> None:
    with pytest.raises(KeyError), paths.locked():
        raise KeyError
    assert sorted(path.name for path in Path(paths.folder).iterdir()) == ["main.lock"]


def test_a_stamp_changes_with_the_state_and_with_the_journal(paths: store.ContextFiles) -> None:
    stamps = [store.context_stamp(paths)]
    assert stamps == [(None, None)]
    save(paths, worked())
    stamps.append(store.context_stamp(paths))
    store.journal(paths, journal.resumed(1.0))
    stamps.append(store.context_stamp(paths))
    seen = Path(paths.journal).stat()
    assert stamps[-1][1] == [seen.st_mtime_ns, seen.st_size, seen.st_ino]
    save(paths, worked())
    stamps.append(store.context_stamp(paths))
    assert len(set(map(str, stamps))) == 4
    assert [stamp[0] is None for stamp in stamps] == [True, False, False, False]


# --- what has expired ------------------------------------------------------------------------------------------------------------------


def test_what_expired_since_the_last_compaction_is_read_oldest_first(paths: store.ContextFiles) -> None:
    scenario = worked()
    save(paths, scenario)
    first = Path(paths.expired).read_text()
    scenario.state.expired.clear()
    scenario.read("d.py")
    scenario.edit("d.py")
    save(paths, scenario)
    assert Path(paths.expired).read_text().startswith(first), "what is behind it is added"
    rows = Path(paths.expired).read_text().splitlines(keepends=True)
    assert list(store.read_expired(paths, scenario.state)) == ["T4", "T5", "T6"]
    other_epoch, live = json.loads(rows[0]), [scenario.state.epoch, *scenario.state.live["T1"].to_row()]
    other_epoch[0] += 1
    odd = [json.dumps(row) + "\n" for row in (other_epoch, live, [], 7, [scenario.state.epoch, "x"], [scenario.state.epoch])]
    Path(paths.expired).write_text("".join([odd[-1], *rows, *odd, rows[0], '[0,"cut']))
    assert list(store.read_expired(paths, scenario.state)) == ["T5", "T6", "T4"], "one that expired again is newer"
    scenario.state.epoch += 1
    assert list(store.read_expired(paths, scenario.state)) == ["T4"], "it is of that compaction"


def test_a_rebuilt_state_replaces_the_log_and_what_killed_hooks_have_left_goes(paths: store.ContextFiles) -> None:
    scenario = worked()
    scenario.state.expired.clear()
    store.journal(paths, journal.resumed(1.0))
    folder = Path(paths.folder)
    for name, age in (("old.tmp", 120.01), ("new.tmp", 119), ("old.json", 121)):
        (folder / name).write_text("x")
        os.utime(folder / name, (time.time() - age,) * 2)
    (folder / "gone.tmp").symlink_to(folder / "nothing")
    store.save_rebuilt(paths, store.StoredState(scenario.state))
    assert {path.name for path in folder.iterdir()} == {"new.tmp", "old.json", "gone.tmp", "main.state.json", "main.journal.jsonl"}
    again = worked()
    save(paths, again)
    assert Path(paths.expired).read_text() != ""
    store.save_rebuilt(paths, store.StoredState(scenario.state))
    assert Path(paths.expired).read_text() == "", "nothing of it is expired"
    for _ in range(2):
        store.save_rebuilt(paths, store.StoredState(again.state))
    assert len(Path(paths.expired).read_text().splitlines()) == len(again.state.expired)
