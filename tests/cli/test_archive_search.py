"""`popkit restore search`, word for word and on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from popkit_retention.cli.main import main
from popkit_retention.core import archive
from popkit_retention.core.archive import index
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = Path(__file__).parent / "goldens" / "archive"
NOW = 1_790_000_000.0
TEXTS = {
    "Read src/users.ts": "export function getUserName(id) {\n  return users[id].name\n}\nexport const AUTH = process.env.AUTH_SECRET\n",
    "Read src/auth.py": "def get_user_name(id):\n    token = 'ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6'\n    return login(id, token)\n",
    "Bash npm test": "PASS 12 tests\nFAIL src/users.test.ts\n  expected getUserName to return a name, " + "and so on, " * 40 + "\n",
}


class Shell:
    """Runs `popkit restore search` in a project's folder, with a home of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture) -> None:
        self.home, self.shop, self.other = folder / "popkit", folder / "shop", folder / "other"
        for each in (self.shop, self.other):
            (each / "src").mkdir(parents=True)
            (each / ".git").mkdir()
        self.environ = {"POPKIT_HOME": str(self.home), "POPKIT_CLOCK": str(NOW)}
        self.capsys = capsys

    def fill(self, indexed: bool = True) -> list[str]:
        """Contents of two projects; only queued for the index unless `indexed`."""
        db = archive.open_archive(str(self.home / "archive.sqlite"))
        records = [archive.NewRecord(f"toolu_{n}", "read", label, json.dumps(text)) for n, (label, text) in enumerate(TEXTS.items())]
        ids = []
        for name, folder, some in (("session-1", self.shop, records), ("session-2", self.other, records[:1])):
            indexer = None if indexed else index.Indexer(db, 0)
            ids += archive.add_records(db, archive.Chain(name, name, project=str(folder / "src")), some, now=NOW, indexer=indexer)
        db.close()
        return ids

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(["restore", "search", *words], self.environ)
        return code, *self.capsys.readouterr()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Shell:
    started = Shell(tmp_path, capsys)
    monkeypatch.chdir(started.shop)
    return started


def test_what_is_found_is_shown_with_its_lines_and_how_to_restore_it(shell: Shell, golden) -> None:
    shell.fill()
    golden(GOLDENS / "search.txt", "".join(f"$ {' '.join(words)}\n{shell(*words)[1]}\n" for words in (
        ["getUserName"], ["auth", "token"], ["user", "name", "--limit", "1"], ["zebra"], ["zebra", "--everywhere"],
    )))  # fmt: skip


def test_without_an_archive_it_says_so(shell: Shell) -> None:
    assert shell("word") == (0, "There is no archive yet: nothing has been cleared.\n", "")
    assert json.loads(shell("word", "--json")[1]) == {"found": []}


def test_only_this_project_is_searched_unless_everything_is_asked_for(shell: Shell) -> None:
    ids = shell.fill()

    def found(*words: str) -> set[str]:
        return {each["handle"] for each in json.loads(shell("getUserName", "--json", *words)[1])["found"]}

    assert found() == set(ids[:3])
    assert found("--everywhere") == set(ids)
    assert found("--everywhere", "--session", "session-2") == {ids[3]}
    assert found("--session", "session-2") == set()


def test_json_has_everything_that_a_program_needs(shell: Shell) -> None:
    ids = shell.fill()
    answer = json.loads(shell("login", "--json")[1])
    assert {**answer, "found": []} == {"found": [], "more": False, "not_searched": 0}
    (found,) = answer["found"]
    assert found["project"].startswith("shop-")
    assert {**found, "project": ""} == {
        "handle": ids[1], "label": "Read src/auth.py", "archived_at": "2026-09-21T14:13:20.000Z", "session": "session-1", "project": "",
        "lines": ["return login(id, token)"],
    }  # fmt: skip
    assert json.loads(shell("user", "--limit", "2", "--json")[1])["more"]


def test_what_is_only_queued_is_indexed_first_and_a_terminal_sees_how_far(shell: Shell) -> None:
    ids = shell.fill(indexed=False)
    env = {**os.environ, **shell.environ, "TERM": "xterm"}
    words = f"-S -E {ROOT / 'hooks' / 'popkit.py'} restore search login"
    seen = pexpect.run(f"{sys.executable} {words}", env=env, cwd=str(shell.shop), encoding="utf-8", timeout=HANG_S)
    assert "100 % of 4 records" in seen
    assert ids[1] in seen
    done = subprocess.run(
        [sys.executable, *words.split()], env=env, cwd=shell.shop, capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert (done.stderr, ids[1] in done.stdout) == ("", True)


def test_no_text_from_outside_moves_the_cursor(shell: Shell) -> None:
    evil = "needle \x1b[2J\r\u202e"
    db = archive.open_archive(str(shell.home / "archive.sqlite"))
    archive.add_records(db, archive.Chain("s", "s", project=str(shell.shop)), [archive.NewRecord("t", "read", evil, json.dumps(evil * 9))])
    db.close()
    for words in (["needle"], ["needle", evil], [evil, "--session", evil]):
        code, shown, error = shell(*words)
        assert not {"\x1b", "\r", "\u202e"} & set(shown + error)
        assert code == 0


@pytest.mark.parametrize("intact", [0, 8_192])  # bytes before the damage: what is read first
def test_a_damaged_archive_is_an_error_with_what_to_do(shell: Shell, intact: int) -> None:
    shell.fill()
    path = shell.home / "archive.sqlite"
    path.write_bytes(path.read_bytes()[:intact].ljust(path.stat().st_size, b"n"))
    code, out, error = shell("word")
    assert (code, out, "Move it away" in " ".join(error.split())) == (1, "", True)
