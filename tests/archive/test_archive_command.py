"""`popkit restore` on real archives."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from popkit_retention.cli.main import main
from popkit_retention.core import archive
from popkit_retention.core.archive.holds import add_hold
from popkit_retention.core.retention_kit.holds import ITEM, Hold
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.log import Log
from tests.archive.written import CHAIN, content, fill, new, tamper
from tests.paths import PYTHONPATH
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_790_000_000.0
RUNS = """
import sys
from popkit_retention.cli.main import main
sys.exit(main(["restore", *sys.argv[1:]]))
"""


class Shell:
    """Runs `popkit restore list` and its fellows with a home of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture) -> None:
        self.path = folder / "archive.sqlite"
        self.environ = {"POPKIT_HOME": str(folder), "POPKIT_CLOCK": str(NOW)}
        self.capsys = capsys

    def open(self):
        return closing(archive.open_archive(str(self.path)))

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(["restore", *words], self.environ)
        return code, *self.capsys.readouterr()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture) -> Shell:
    return Shell(tmp_path / "popkit", capsys)


@pytest.fixture
def ids(shell: Shell) -> list[str]:
    """Three records of a month ago and two of an hour ago."""
    with shell.open() as db:
        old = fill(db, 3, at=NOW - 30 * 86_400)
        return [*old, *archive.add_records(db, CHAIN, [new(3), new(4)], now=NOW - 3_600)]


@pytest.fixture
def cold_read(shell: Shell, tmp_path: Path) -> tuple[str, Path]:
    """A Read that is left to its file, and the file."""
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    read = json.dumps("     1→one\n     2→", ensure_ascii=False)
    with shell.open() as db:
        (id,) = archive.add_records(db, CHAIN, [new(0, content=read, source=archive.source_of(read, str(file)))])
        fill(db, 1, at=NOW)
        archive.archive_record(db, id, hot_max=1, warm_max=1)
    return id, file


def _change(shell: Shell, id: str, column: str, value: object) -> None:
    with shell.open() as db:
        tamper(db, id, column, value)


def test_without_an_archive_it_says_so_and_makes_none(shell: Shell) -> None:
    message = "There is no archive yet: nothing has been cleared."
    for words in (["stats"], ["list"], ["verify"], ["prune", "--older-than", "30d"]):
        assert shell(*words) == (0, message + "\n", "")
    assert shell("show", "abcdefgh") == (1, "", f"popkit restore: {message}\n")
    assert json.loads(shell("list", "--json")[1]) == {"records": []}
    assert json.loads(shell("stats", "--json")[1]) == {"records": 0}
    assert not shell.path.exists()


def test_stats_tell_how_much_there_is(shell: Shell, ids: list[str]) -> None:
    code, shown, _ = shell("stats")
    assert code == 0
    assert "Records   5 (5 hot, 0 warm, 0 cold)" in shown
    assert "Archived  2026-08-22 14:13 to 2026-09-21 13:13 UTC" in shown
    assert json.loads(shell("stats", "--json")[1])["zones"] == {"hot": 5, "warm": 0, "cold": 0}


def test_list_shows_the_newest_first_in_one_line_each(shell: Shell, ids: list[str]) -> None:
    code, shown, _ = shell("list")
    assert code == 0
    assert [line.split()[0] for line in shown.splitlines()] == ["handle", *ids[::-1]]
    assert shown.splitlines()[1] == f"{ids[4]}  2026-09-21 13:13  hot     ~104  Read src/4.py"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["src/4.py"], [4]),
        (["*.py"], [4, 3, 2, 1, 0]),
        (["*.ts"], []),
        (["--since", "2h"], [4, 3]),
        (["--since", "5w"], [4, 3, 2, 1, 0]),
        (["--since", "2026-09-21"], [4, 3]),
        (["--since", "2026-09-21T13:30:00Z"], []),
        (["--since", "2026-09-21T15:00+02:00", "src/3.py"], [3]),
        (["--session", "session-1"], [4, 3, 2, 1, 0]),
        (["--session", "sess"], [4, 3, 2, 1, 0]),
        (["--session", "session-2"], []),
        (["--limit", "2"], [4, 3]),
    ],
)
def test_list_takes_only_what_is_asked_for(shell: Shell, ids: list[str], words: list[str], found: list[int]) -> None:
    code, shown, _ = shell("list", "--json", *words)
    listed = json.loads(shown)
    assert (code, [each["id"] for each in listed["records"]]) == (0, [ids[number] for number in found])
    assert listed["more"] == ("--limit" in words)
    shown = shell("list", *words)[1]
    assert ("Nothing in the archive matches." in shown, "There is more" in shown) == (not found, "--limit" in words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "--since", "soon"], 'takes a time such as 2h, 3d, 2026-02-21 or 2026-02-21T16:15, not "soon"'),
        (["list", "--since", "\x1b[2J"], 'not "[2J"'),
        (["list", "--limit", "0"], "--limit takes a whole number from 1"),
        (["prune", "--older-than", "30"], 'such as 30d, not "30"'),
        (["prune", "--older-than", "-3d"], 'such as 30d, not "-3d"'),
        (["prune", "--older-than", "99999999999d"], "takes a whole number followed by s, m, h, d or w"),
        (["show", "abc"], "abc is too short: give at least 4 letters of a handle"),
        (["show", "abcd"], "there is no record abcd. `popkit restore list` shows the handles"),
        (["show", "' OR 1=1"], "there is no record"),
    ],
)
def test_what_is_not_understood_is_an_error_and_changes_nothing(shell: Shell, ids: list[str], words: list[str], message: str) -> None:
    words = [word.replace("--older-than", "--older-than=") for word in words]
    if "--older-than=" in words:
        words = ["prune", "".join(words[1:])]
    before = shell.path.read_bytes()
    code, out, error = shell(*words)
    assert (code, out) == (1, "")
    assert message in " ".join(error.split())
    assert "\x1b" not in error
    code, out, error = shell(*words, "--json")
    assert (code, error) == (1, "")
    assert message in json.loads(out)["error"]
    assert shell.path.read_bytes() == before


def test_show_says_what_it_is_and_prints_the_content_as_the_model_saw_it(shell: Shell, ids: list[str]) -> None:
    for word in (ids[1], ids[1][:5]):
        code, shown, _ = shell("show", word)
        head, _, body = shown.partition("\n\n")
        assert code == 0
        assert head.splitlines()[:3] == [f"Handle    {ids[1]} (hot)", "What      Read src/1.py", "Session   session-1"]
        assert body == json.loads(content(1))
    answer = json.loads(shell("show", ids[1], "--json")[1])
    assert (answer["id"], answer["content"], answer["subjects"]) == (ids[1], json.loads(content(1)), ["/home/dev/shop/src/1.py"])


def test_show_shows_blocks_below_each_other_and_an_image_as_a_note(shell: Shell) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000}}
    blocks = [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}, {"type": "tool_reference", "tool_name": "x"}]
    with shell.open() as db:
        (id,) = archive.add_records(db, CHAIN, [new(0, content=json.dumps(blocks))])
    body = shell("show", id)[1].partition("\n\n")[2]
    assert body == 'one\n[image: image/png, 3,000 bytes]\ntwo\n{"type": "tool_reference", "tool_name": "x"}\n'


def test_show_of_what_is_gone_says_so(shell: Shell, ids: list[str]) -> None:
    with shell.open() as db:
        archive.archive_record(db, ids[0], hot_max=1, warm_max=1)
    code, shown, _ = shell("show", ids[0])
    assert (code, "gone for good" in shown, archive.hash_content(content(0))[:20] in shown) == (1, True, True)
    code, shown, _ = shell("show", ids[0], "--json")
    assert (code, json.loads(shown)["content"]) == (1, None)


def test_show_brings_a_cold_read_back_from_its_file(shell: Shell, cold_read: tuple[str, Path]) -> None:
    id, _ = cold_read
    code, shown, _ = shell("show", id)
    assert (code, shown.partition("\n\n")[2]) == (0, "     1→one\n     2→\n")


def test_a_beginning_that_several_handles_have_is_refused_with_them(shell: Shell, ids: list[str]) -> None:
    _change(shell, ids[0], "id", "abcdefgh")
    _change(shell, ids[1], "id", "abcdefxx")
    assert "abcd could be abcdefgh, abcdefxx. Give more" in shell("show", "abcd")[2]


def test_nothing_that_came_from_outside_moves_the_cursor(shell: Shell) -> None:
    evil = "a\x1b[2Jb\r\u202ec\nd"
    with shell.open() as db:
        chain = archive.Chain(evil, evil, evil)
        (id,) = archive.add_records(db, chain, [new(0, label=evil, tool_use_id=evil, timestamp=evil, subjects=[evil])])
        tamper(db, id, "tokens", 7)
    for words in (["list"], ["show", id], ["verify"]):
        shown = shell(*words)[1]
        assert not {"\x1b", "\r", "\u202e"} & set(shown)


def test_content_is_printed_verbatim_when_asked_for_and_safe_for_a_pipe_or_terminal(shell: Shell) -> None:
    hostile = "one\ttab\n\x1b[2Jtwo\rthree\u202e\n\nend"
    with shell.open() as db:
        (id,) = archive.add_records(db, CHAIN, [new(0, content=json.dumps(hostile))])
    env = {**os.environ, **shell.environ, "PYTHONPATH": PYTHONPATH, "PYTHONIOENCODING": "utf-8", "TERM": "dumb"}
    piped = subprocess.run([sys.executable, "-c", RUNS, "show", id], env=env, capture_output=True, check=True, cwd=ROOT)
    assert piped.stdout.decode().partition("\n\n")[2] == hostile.replace("\x1b", r"\x1b") + "\n"
    exact = subprocess.run([sys.executable, "-c", RUNS, "show", id, "--raw"], env=env, capture_output=True, check=True, cwd=ROOT)
    assert exact.stdout.decode() == hostile + "\n"
    shown = pexpect.run(f"{sys.executable} -c '{RUNS}' show {id}", env=env, cwd=str(ROOT), encoding="utf-8", timeout=HANG_S)
    assert shown.partition("\r\n\r\n")[2].rstrip("\r\n").split("\r\n") == ["one\ttab", r"\x1b[2Jtwo\rthree\u202e", "", "end"]


def test_verify_names_the_first_broken_record_and_exits_1(shell: Shell, ids: list[str]) -> None:
    assert shell("verify") == (0, "Everything is as it was written: 5 records of 1 context.\n", "")
    assert json.loads(shell("verify", "--json")[1]) == {"ok": True, "records": 5, "chains": 1, "broken": [], "lost": [], "problems": []}
    _change(shell, ids[2], "label", "Read src/other.py")
    code, shown, _ = shell("verify")
    assert (code, f"Broken: {ids[2]}, number 3 of session-1" in shown, "1 broken" in shown) == (1, True, True)
    code, shown, _ = shell("verify", "--json")
    assert (code, [problem["id"] for problem in json.loads(shown)["broken"]]) == (1, [ids[2]])


def test_a_tampered_record_is_not_shown(shell: Shell, ids: list[str]) -> None:
    _change(shell, ids[2], "content", '"other"')
    code, shown, error = shell("show", ids[2])
    assert (code, shown) == (1, "")
    assert "does not match its content_hash" in error


def test_prune_deletes_only_what_is_old_and_says_what_it_did(shell: Shell, ids: list[str]) -> None:
    size = f"{3 * len(content(0))} bytes"
    before = shell.path.read_bytes()
    assert shell("prune", "--older-than", "2w", "--dry-run") == (0, f"Would delete 3 records ({size}) for good.\n", "")
    assert shell.path.read_bytes() == before
    assert shell("prune", "--older-than", "2w") == (0, f"Deleted 3 records ({size}) for good.\n", "")
    assert shell("prune", "--older-than", "2w")[1] == "Nothing was deleted: no content was archived more than 2w ago.\n"
    assert [each["zone"] for each in json.loads(shell("list", "--json")[1])["records"]] == ["hot"] * 2 + ["cold"] * 3
    assert shell("verify")[0] == 0
    report = json.loads(shell("prune", "--older-than", "30m", "--json")[1])
    assert (report["records"], report["chains"], report["dry_run"]) == (5, 1, False)
    assert json.loads(shell("list", "--json")[1])["records"] == []


def test_the_log_of_retention_names_a_prune_and_each_content_once(shell: Shell, ids: list[str]) -> None:
    shell("prune", "--older-than", "2w", "--dry-run")
    shell("prune", "--older-than", "2w")
    shell("prune", "--older-than", "30m")
    with closing(Log(Folder(shell.environ["POPKIT_HOME"]).log_path)) as log:
        deleted = [set(entry.ids) for entry in log.entries(action="deleted")]
        assert log.entries(action="deleting")[0].details == {"command": "popkit restore prune"}
        assert log.unfinished() == []
    assert deleted == [set(ids[3:]), set(ids[:3])]


def test_prune_says_what_is_on_hold_and_leaves_it(shell: Shell, ids: list[str]) -> None:
    with shell.open() as db:
        for number, id in enumerate(ids[:2]):
            add_hold(db, Hold(f"h{number}", ITEM, id, "user", "audit", NOW))
    would = shell("prune", "--older-than", "2w", "--dry-run")[1]
    assert would.splitlines()[1:] == ["2 records are on hold and stay: popkit retention hold list."]
    assert "Deleted 1 record" in shell("prune", "--older-than", "2w")[1]
    expected = "2 records are on hold and stay: popkit retention hold list.\nNo other content was archived more than 2w ago.\n"
    assert shell("prune", "--older-than", "2w") == (0, expected, "")
    assert json.loads(shell("prune", "--older-than", "2w", "--json")[1])["on_hold"] == 2
    assert shell("show", ids[0])[0] == 0


@pytest.fixture
def standing(shell: Shell, tmp_path: Path) -> list[str]:
    """Three old records, of which two have their placeholders in the session's transcript, and one in that of a fork."""
    transcript = tmp_path / "claude" / "projects" / "-shop" / "session.jsonl"
    transcript.parent.mkdir(parents=True)
    with shell.open() as db:
        chain = archive.Chain("s", "s", transcript=str(transcript))
        ids = archive.add_records(db, chain, [new(1), new(2), new(3)], now=NOW - 9_000)
    for path, held in ((transcript, ids[:2]), (transcript.with_name("fork.jsonl"), ids[1:2])):
        blocks = [
            {"type": "tool_result", "tool_use_id": "t", "content": f"[PopKit cleared a (b). To see it: popkit restore {id}]"} for id in held
        ]
        path.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": blocks}}) + "\n")
    shell.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "claude")
    return ids


def test_prune_says_which_placeholders_would_stand_for_nothing(shell: Shell, standing: list[str]) -> None:
    code, shown, _ = shell("prune", "--older-than", "1h", "--dry-run")
    output = " ".join(shown.split())
    assert code == 0
    assert "1 context would disappear completely. 3 placeholders for them remain in transcripts and could no longer be restored:" in output
    assert f"session fork {standing[1]} Read src/2.py session session" in output
    assert "To put contents back first: /popkit undo in the session, once it is resumed" in output
    answer = json.loads(shell("prune", "--older-than", "1h", "--dry-run", "--json")[1])
    assert answer["held"] == 3
    assert {Path(path).stem: ids for path, ids in answer["placeholders"].items()} == {
        "session": sorted(standing[:2]),
        "fork": standing[1:2],
    }


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 3), ("", 1, 3)])
def test_prune_asks_before_placeholders_lose_what_they_stand_for(
    shell: Shell, standing: list[str], answer: str, code: int, left: int
) -> None:
    env = {**os.environ, **shell.environ, "PYTHONPATH": PYTHONPATH}
    words = [sys.executable, "-c", RUNS, "prune", "--older-than", "1h"]
    done = subprocess.run(words, env=env, input=answer, capture_output=True, text=True, check=False, cwd=ROOT)
    assert "Delete anyway? [y/N]" in done.stdout
    assert (done.returncode, "nothing was deleted" in done.stderr) == (code, code == 1)
    assert len(json.loads(shell("list", "--json")[1])["records"]) == left


def test_a_yes_beforehand_is_not_asked_for(shell: Shell, standing: list[str]) -> None:
    code, out, _ = shell("prune", "--older-than", "1h", "--json")
    assert (code, "3 placeholders in transcripts could no longer be restored" in json.loads(out)["error"]) == (1, True)
    assert json.loads(shell("prune", "--older-than", "1h", "--json", "--yes")[1])["held"] == 3
    assert json.loads(shell("list", "--json")[1])["records"] == []


def test_verify_names_what_was_left_to_a_source_that_no_longer_has_it(shell: Shell, cold_read: tuple[str, Path]) -> None:
    id, file = cold_read
    assert shell("verify")[0] == 0
    file.write_text("two\n")
    code, shown, _ = shell("verify")
    assert (code, shown.splitlines()[0]) == (1, f"Lost: {id} Read src/0.py: git no longer has its content")
    answer = json.loads(shell("verify", "--json")[1])
    assert (answer["ok"], answer["broken"], answer["lost"]) == (False, [], [id])


def test_prune_needs_the_word(shell: Shell, ids: list[str]) -> None:
    code, _, error = shell("prune")
    assert code == 1
    assert "prune needs --older-than AGE" in error
    assert shell("list")[1].count("\n") == 6, "below the names of the columns"


@pytest.mark.parametrize("act", ["stats", "list", "verify"])
def test_an_archive_that_cannot_be_read_is_an_error_with_what_to_do(shell: Shell, ids: list[str], act: str) -> None:
    shell.path.write_bytes(b"no database " * 100)
    code, out, error = shell(act)
    assert (code, out) == (1, "")
    assert "Move it away" in " ".join(error.split())
    shell.path.unlink()
    shell.path.symlink_to("/dev/null")
    assert "regular file" in " ".join(shell(act)[2].split())
    shell.path.unlink()
    with closing(sqlite3.connect(shell.path)) as db:
        db.execute("PRAGMA user_version = 99")
        db.execute(f"PRAGMA application_id = {archive.APPLICATION_ID}")
    assert "Update PopKit" in " ".join(shell(act)[2].split())
