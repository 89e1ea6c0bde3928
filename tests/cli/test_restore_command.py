"""`popkit restore`: prints what was cleared, as placeholders tell the model to run it, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from popkit_retention.core import archive
from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.state.site import Site
from tests.archive.written import new
from tests.paths import PYTHONPATH
from tests.patience import HANG_S
from tests.reclaim.earlier import answer
from tests.views.written import Written, spec_session

ROOT = Path(__file__).resolve().parents[2]
SESSION = "5e551017-0000-4000-8000-00000000000a"
NOW = 1_790_000_300.0


class Cleared:
    """A session whose transcript holds placeholders for some results, and the command line with its home."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture) -> None:
        self.claude = folder / "claude"
        self.environ = {"CLAUDE_CONFIG_DIR": str(self.claude), "POPKIT_CLOCK": repr(NOW)}
        self.capsys = capsys
        self.project = folder / "shop"
        self.project.mkdir()
        self.written: Written = spec_session(
            self.claude / "projects" / folder_name(str(self.project)), session=SESSION, project=str(self.project)
        )
        self.original = self.contents()
        answer("clear --id T1,T2,T5 --now", Site(self.environ, SESSION, str(self.project)), str(self.written.path), NOW)
        self.handles = {row["number"]: row["handle"] for row in self.report()["results"] if row["state"] == "cleared"}

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(list(words), self.environ)
        return code, *self.capsys.readouterr()

    def contents(self) -> dict[int, str]:
        lines = map(json.loads, self.written.path.read_text().splitlines())
        blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"] if isinstance(block, dict)]
        return {number: block["content"] for number, block in enumerate(blocks, 1)}

    def noted(self) -> SessionNotes:
        return SessionNotes(str(self.claude / "popkit"), SESSION)

    def report(self) -> dict:
        return json.loads(self("context", "--json", "--session", SESSION)[1])

    def false_expirations(self) -> int:
        return json.loads(self("context", "stats", "--json", "--session", SESSION)[1])["session"]["false_expirations"]


@pytest.fixture
def cleared(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Cleared:
    session = Cleared(tmp_path, capsys)
    monkeypatch.chdir(session.project)
    return session


def test_a_handle_prints_its_content_and_nothing_else(cleared: Cleared) -> None:
    assert cleared("restore", cleared.handles[5]) == (0, cleared.original[5] + "\n", "")


def test_the_placeholder_names_the_command(cleared: Cleared) -> None:
    placeholder = cleared.contents()[5]
    command = placeholder.split("To see it: ")[1].rstrip("]").split()
    assert command[0] == "popkit"
    assert cleared(*command[1:])[1] == cleared.original[5] + "\n"


@pytest.mark.parametrize("word", ["toolu_05Bash", "prefix", "T5", "5"])
def test_the_command_still_answers_to_its_previous_name(cleared: Cleared, word: str) -> None:
    word = cleared.handles[5][:6] if word == "prefix" else word
    code, shown, _ = cleared("restore", word)
    assert (code, shown.strip("\n")) == (0, cleared.original[5].strip("\n"))


def test_a_path_prints_the_newest_of_each_kind_that_was_cleared(cleared: Cleared) -> None:
    assert cleared("restore", "src/auth.ts")[1] == cleared.original[1] + "\n"
    assert cleared("restore", f"{cleared.project}/src/*.ts")[1] == cleared.original[1] + "\n"


def test_several_contents_are_printed_with_their_labels(cleared: Cleared) -> None:
    _, shown, _ = cleared("restore", cleared.handles[1], cleared.handles[5])
    assert f"=== {cleared.handles[1]}  Read src/auth.ts\n{cleared.original[1]}\n" in shown
    assert f"=== {cleared.handles[5]}  Bash npm test\n{cleared.original[5]}\n" in shown


def test_with_json_the_contents_are_data(cleared: Cleared) -> None:
    code, shown, _ = cleared("restore", cleared.handles[5], "--json")
    (record,) = json.loads(shown)["records"]
    assert code == 0
    assert (record["handle"], record["id"], record["content"]) == (cleared.handles[5], "toolu_05Bash", cleared.original[5])


def test_it_changes_nothing_but_the_count_of_mistakes(cleared: Cleared) -> None:
    before = cleared.written.path.read_bytes()
    cleared("restore", cleared.handles[5])
    assert cleared.written.path.read_bytes() == before
    assert cleared.false_expirations() == 1


def test_in_place_of_a_session_that_does_not_run_is_noted_for_when_it_is_resumed(cleared: Cleared) -> None:
    before = cleared.written.path.read_bytes()
    code, shown, _ = cleared("restore", "T5", "--in-place", "--session", SESSION)
    assert (code, "It comes back in place when the session is resumed" in " ".join(shown.split())) == (0, True)
    assert cleared.original[5] not in shown
    assert cleared.noted().back == [cleared.handles[5]]
    assert json.loads(cleared("restore", "T1", "T5", "--in-place", "--json", "--session", SESSION)[1]) == {
        "restored": [cleared.handles[1], cleared.handles[5]],
        "stays_out": [],
        "later": True,
    }
    assert cleared.noted().back == [cleared.handles[5], cleared.handles[1]], "each once"
    assert cleared.written.path.read_bytes() == before
    assert cleared.false_expirations() == 0


def test_since_prints_everything_cleared_after_that_time(cleared: Cleared) -> None:
    shown = cleared("restore", "--since", "1h", "--session", SESSION)[1]
    assert [f"=== {handle}" in shown for handle in cleared.handles.values()] == [True] * 3
    code, _, error = cleared("restore", "--since", "2027-01-01", "--session", SESSION)
    assert (code, "nothing of this session was cleared since" in " ".join(error.split())) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "restore takes ID, PATH or --since TIME"),
        (["abcd2345"], 'nothing cleared is called "abcd2345"'),
        (["docs/*.md"], "nothing cleared is called"),
        (["T3"], "T3 was not cleared. It is still in the context"),
        (["T99"], "there is no call T99"),
        (["--since", "soon"], "--since takes a time such as 2h"),
        (["T5", "--since", "1h"], "restore takes ID, PATH or --since TIME"),
        (["--nonsense"], "unknown flag"),
        (["T3", "--in-place"], "T3 was not cleared"),
        (["../../etc/passwd"], "nothing cleared is called"),
        (["x\x1b[2J"], "nothing cleared is called"),
    ],
)
def test_a_mistake_exits_1_and_prints_nothing(cleared: Cleared, words: list, message: str) -> None:
    code, shown, error = cleared("restore", *words)
    assert (code, shown) == (1, "")
    assert message in " ".join(error.split())
    assert "\x1b" not in error
    assert json.loads(cleared("restore", *words, "--json")[1]).keys() == {"error"}


def test_a_pruned_content_is_gone_for_good(cleared: Cleared) -> None:
    cleared.environ["POPKIT_CLOCK"] = "1800000000"
    assert cleared("restore", "prune", "--older-than", "1d", "--yes")[0] == 0
    code, shown, error = cleared("restore", cleared.handles[5])
    assert code == 1
    assert "npm" not in shown or "Gone for good" in shown
    assert cleared.original[5] not in shown + error


def test_in_place_of_what_was_pruned_is_refused_and_the_rest_is_noted(cleared: Cleared) -> None:
    with closing(archive.open_archive(str(cleared.claude / "popkit" / "archive.sqlite"))) as db:
        chain = archive.chain(db, archive.record(db, cleared.handles[5]).task_id)
        (kept,) = archive.add_records(db, chain, [new(9)], now=1_799_999_000.0)
    cleared.environ["POPKIT_CLOCK"] = "1800000000"
    assert cleared("restore", "prune", "--older-than", "1d", "--yes")[0] == 0
    code, shown, error = cleared("restore", "T5", "--in-place", "--session", SESSION)
    assert (code, shown) == (1, "")
    assert "nothing can be put back. Gone for good (pruned, or no longer in git): Bash npm test" in " ".join(error.split())
    assert cleared.noted().back == []
    code, shown, _ = cleared("restore", "T5", kept, "--in-place", "--session", SESSION)
    assert (code, "It comes back in place" in shown, "git): Bash npm test" in " ".join(shown.split())) == (0, True, True)
    assert cleared.noted().back == [kept]


def test_before_anything_was_cleared_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    environ = {"POPKIT_HOME": str(tmp_path / "home")}
    assert main(["restore", "abcd2345"], environ) == 1
    assert "nothing has been archived yet" in capsys.readouterr().err
    assert not list(tmp_path.rglob("archive*")), "asking makes none"


def test_it_starts_without_the_modules_of_other_commands(cleared: Cleared) -> None:
    code = "import sys; from popkit_retention.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "restore", cleared.handles[5]],
        env={"PATH": os.environ["PATH"], **cleared.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    )
    assert done.stdout == cleared.original[5] + "\n"
    loaded = set(done.stderr.split())
    commands = {name.rpartition(".")[2] for name in loaded if name.endswith("_command")}
    assert commands <= {"restore_command", "context_command"}
    assert not {"popkit_retention.core.state.rebuild", "popkit_retention.core.reclaim.undoing", "asyncio", "dataclasses"} & loaded


def test_a_content_comes_back_even_if_the_restore_cannot_be_counted(cleared: Cleared) -> None:
    lock = cleared.claude / "popkit" / "sessions" / SESSION / "main.lock"
    lock.unlink()
    lock.mkdir()  # as a disk that cannot be written, for root too
    code, shown, err = cleared("restore", cleared.handles[5])
    assert (code, shown) == (0, cleared.original[5] + "\n")
    assert "not counted as a false expiration" in err
    lock.rmdir()
    assert cleared.false_expirations() == 0
