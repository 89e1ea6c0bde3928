"""`popkit context` and the table of commands: the hook's answers in a shell, for the session that the words mean."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from popkit_retention.cli.commands import every, first, names, words_of_context
from popkit_retention.cli.main import main
from popkit_retention.core import units
from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.io import home
from popkit_retention.core.operations.context_words import answer
from popkit_retention.core.version import VERSION
from tests.paths import PYTHONPATH
from tests.patience import HANG_S
from tests.views.written import Written, spec_session

ROOT = Path(__file__).resolve().parents[2]
COMMAND = f"{sys.executable} {ROOT / 'hooks' / 'popkit.py'}"


class Shell:
    """Runs the command line in this process, with a home of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture) -> None:
        self.claude = folder / "claude"
        self.environ = {"CLAUDE_CONFIG_DIR": str(self.claude), "POPKIT_CLOCK": "1790000200"}
        self.capsys = capsys

    def session(self, id: str, project: str = "/home/dev/shop", changed: float = 1_790_000_000.0) -> Written:
        written = spec_session(self.claude / "projects" / folder_name(project), session=id, project=project)
        os.utime(written.path, (changed, changed))
        return written

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process of its own."""
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **self.environ}

    def alone(self, line: str, **environ: str) -> subprocess.CompletedProcess:
        """A line of a shell in which the command has a process of its own."""
        command = ["/bin/sh", "-c", f"{COMMAND} {line}"]
        return subprocess.run(command, env={**self.env, **environ}, capture_output=True, check=False, timeout=HANG_S)

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(list(words), self.environ)
        return code, *self.capsys.readouterr()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture) -> Shell:
    return Shell(tmp_path, capsys)


@pytest.mark.parametrize("words", ["retention", "retention --details", "timeline --last 3", "why T5", "stats", "clear --tier short"])
def test_it_answers_as_the_hook_does(shell: Shell, words: str) -> None:
    written = shell.session("one")
    code, shown, _ = shell("context", *words.split(), "--session", "one")
    site = written.site(shell.claude / "popkit")
    expected = answer(words, site, str(written.path), 1_790_000_200.0).replace("/popkit:context", "popkit context --session one")
    assert (code, shown) == (0, expected.lstrip("\n") + "\n")


def test_without_a_name_it_takes_the_newest_session_of_this_folders_project(shell: Shell, tmp_path, monkeypatch) -> None:
    project = tmp_path / "shop"
    (project / "src" / "deep").mkdir(parents=True)
    shell.session("older", str(project), 1_000.0)
    shell.session("newer", str(project), 2_000.0)
    shell.session("elsewhere", "/home/dev/other", 3_000.0)
    for folder in (project, project / "src" / "deep"):
        monkeypatch.chdir(folder)
        assert json.loads(shell("context", "--json")[1])["session"] == "newer"


def test_the_transcript_of_a_subagent_is_not_a_session(shell: Shell, tmp_path, monkeypatch) -> None:
    shell.session("main", str(tmp_path), 1_000.0)
    shell.session("agent-1234", str(tmp_path), 2_000.0)
    monkeypatch.chdir(tmp_path)
    assert json.loads(shell("context", "--json")[1])["session"] == "main"


def test_a_session_goes_by_the_beginning_of_its_id(shell: Shell) -> None:
    shell.session("abc-1")
    shell.session("abd-2", "/home/dev/other")
    assert json.loads(shell("context", "--session", "abd", "--json")[1])["session"] == "abd-2"
    code, _, error = shell("context", "--session", "ab")
    assert (code, "2 sessions begin with ab: abd-2, abc-1" in error or "abc-1, abd-2" in error) == (1, True)


def test_an_id_that_begins_another_id_names_only_its_own_session(shell: Shell) -> None:
    shell.session("abc")
    shell.session("abc-2")
    assert json.loads(shell("context", "--session", "abc", "--json")[1])["session"] == "abc"


def test_a_transcript_file_may_be_anywhere(shell: Shell, tmp_path: Path) -> None:
    written = spec_session(tmp_path / "copies", session="mine")
    data = json.loads(shell("context", "--transcript", str(written.path), "--json")[1])
    assert (data["session"], data["calls"], data["project"]) == ("mine", 14, "/home/dev/shop")


def error_of(shell: Shell, words: list, message: str) -> str:
    """What a call that fails prints; it says that."""
    shell.session("one")
    code, shown, error = shell("context", *words)
    assert (code, shown) == (1, "")
    assert message in " ".join(error.split())
    assert error.startswith("popkit context: ")
    return error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], 'unknown word "nonsense"'),
        (["--session", "one", "--transcript", "x"], "give either --session or --transcript"),
        (["help", "nonsense"], 'unknown word "nonsense"'),
    ],
)
def test_a_mistake_exits_1_and_says_what_is_known(shell: Shell, words: list, message: str) -> None:
    error = error_of(shell, words, message)
    assert error.endswith("popkit context help lists all words.\n")
    assert all(len(line) <= 76 for line in error.splitlines())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--session", "none"], "no session none under"),
        (["--session", "../../etc"], "no session ../../etc under"),
        (["--transcript", "/no/such/file"], "/no/such/file: cannot be read: No such file or directory"),
        (["why", "T99", "--session", "one"], "there is no call T99"),
    ],
)
def test_a_missing_session_exits_1_and_says_what_to_do_without_the_help_text(shell: Shell, words: list, message: str) -> None:
    error = error_of(shell, words, message)
    assert "help lists" not in error


def test_with_json_a_mistake_is_json_too(shell: Shell) -> None:
    shell.session("one")
    for words in (["why", "T99", "--session", "one"], ["nonsense"], ["--session", "none"]):
        code, shown, _ = shell("context", *words, "--json")
        assert code == 1
        assert set(json.loads(shown)) == {"error"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"root:x:0:0\nuuid\n", "none of its 2 lines belongs to a conversation"),
        (b'{"uuid": 3}\n[1, "uuid"]\n', "none of its 2 lines"),
        (bytes(range(256)) * 40, "is not a Claude Code transcript"),
        (b'{"uuid": "a", "type": "bank-transfer"}\n', "none of its 1 line belongs"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused(shell: Shell, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)
    code, shown, error = shell("context", "--transcript", str(path))
    assert (code, shown) == (1, "")
    assert message in " ".join(error.split())
    assert not (shell.claude / "popkit").exists()


def test_a_folder_is_not_a_transcript(shell: Shell, tmp_path: Path) -> None:
    assert "not a regular file" in shell("context", "--transcript", str(tmp_path))[2]


def test_without_any_session_it_says_what_to_do(shell: Shell, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, error = shell("context")
    assert code == 1
    assert "popkit try" in error
    assert "--transcript FILE" in error


def test_what_is_about_the_whole_machine_needs_no_session(shell: Shell, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "everywhere" in shell("stats")[1]
    for chosen in ("on", "off"):
        assert json.loads(shell("auto", chosen, "--json")[1])["setting"] == chosen
    shell.session("7f3a0001")
    assert json.loads(shell("auto", "show", "--json", "--session", "7f3a0001")[1])["setting"] == "off"
    assert [path.name for path in (shell.claude / "popkit" / "sessions").iterdir()] == ["7f3a0001"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("why", "--session ID or --transcript FILE."),
        ("clear", "--session ID."),
        ("clear --dry-run", "--session ID or --transcript FILE."),
        ("check-compaction", "popkit check-compaction TRANSCRIPT."),
    ],
)
def test_where_there_is_no_session_the_way_to_name_one_is_one_that_the_command_has(
    shell: Shell, tmp_path, monkeypatch, words: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"name a session: {named}" in " ".join(shell(*words.split())[2].split())


@pytest.mark.parametrize("words", ["stats --session none", "auto off --transcript none.jsonl", "context", "clear", "why T1"])
def test_what_is_about_a_session_names_the_one_that_is_missing(shell: Shell, tmp_path, monkeypatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    code, output, error = shell(*words.split())
    assert (code, output) == (1, "")
    assert error


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("/home/dev/shop", "-home-dev-shop"),
        ("/home/dev/my.shop_2", "-home-dev-my-shop-2"),
        ("/home/dév/シ", "-home-d-v--"),
        ("/home/😀", "-home---"),
        (r"C:\code\shop", "C--code-shop"),
    ],
)
def test_a_projects_folder_has_a_dash_for_every_other_character(project: str, name: str) -> None:
    assert folder_name(project) == name


def test_pins_and_profiles_belong_to_the_session(shell: Shell) -> None:
    written = shell.session("one")
    assert shell("context", "pin", "T3", "--session", "one")[0] == 0
    assert shell("context", "--session", "one", "--conservative")[0] == 0
    site = written.site(shell.claude / "popkit")
    assert site.session.profile == "conservative"
    assert "yes. To release it: /popkit:context unpin T3" in answer("why T3", site, str(written.path), written.now)


def listed(shown: str) -> list[str]:
    """The commands that an overview lists."""
    return re.findall(r"^  ([a-z]\S*) ", shown, re.MULTILINE)


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_without_a_command_the_eight_that_a_person_needs_are_listed_a_line_each(shell: Shell, words: list) -> None:
    code, shown, _ = shell(*words)
    assert code == 0
    assert listed(shown) == [*first()]
    assert len(first()) == 8
    assert len(shown.splitlines()) == 15
    assert f"popkit help --all shows the other {len(names()) - 8} commands." in shown


@pytest.mark.parametrize("words", [["help", "--all"], ["--help", "--all"]])
def test_help_all_lists_every_command(shell: Shell, words: list) -> None:
    code, shown, _ = shell(*words)
    assert code == 0
    assert listed(shown) == names()
    assert {*every(), *words_of_context()} == set(names())
    assert all(len(line) <= 76 for line in shown.splitlines())


@pytest.mark.parametrize("name", names())
def test_every_command_has_help(shell: Shell, name: str) -> None:
    code, shown, _ = shell("help", name)
    assert code == 0
    assert shown == shell(name, "--help")[1]
    assert shown.startswith(f"popkit {name}")
    assert all(len(line) <= 76 for line in shown.splitlines())


def test_an_unknown_command_is_answered_with_the_known_ones(shell: Shell) -> None:
    code, _, error = shell("contxt")
    assert code == 1
    assert error.startswith('popkit: unknown command "contxt" (did you mean context?). Known:')
    assert all(name in error for name in names())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["config"], "popkit config needs a word: check, show, path, schema or help popkit config help lists"),
        (["completion"], "popkit completion needs bash, zsh or fish popkit completion --help lists"),
        (["setup", "x"], "popkit setup takes neo4j, "),
        (["doctor", "x"], 'popkit doctor takes no arguments, so "x" is too much popkit doctor --help lists'),
        (["restore", "--in"], 'popkit restore: unknown flag "--in"'),
        (["restore", "--in"], "popkit restore --help lists all flags."),
        (["restore", "show"], "popkit restore: show needs ID"),
    ],
)
def test_a_mistake_is_explained_in_a_sentence_about_the_command_that_was_typed(shell: Shell, words: list, message: str) -> None:
    code, shown, error = shell(*words)
    assert (code, shown) == (1, "")
    assert message in " ".join(error.split())


@pytest.mark.parametrize(
    "line", ["restore list", "retention", "uninstall --dry-run", "memory", "auto on", "budget", f"config check {'x' * 300}"]
)
def test_what_the_system_refuses_is_said_in_words(shell: Shell, tmp_path: Path, line: str) -> None:
    (tmp_path / "file").touch()
    shell.environ["POPKIT_HOME"] = str(tmp_path / "file")
    said = "".join(map(str, shell(*line.split())))
    assert "Errno" not in said
    assert re.search(r"Not\s+a\s+directory|File name too long", said)


def test_the_version_is_that_of_the_plugin(shell: Shell) -> None:
    assert shell("--version") == (0, f"popkit {VERSION}\n", "")


class Nowhere(dict):
    """The environment of a user whom the system does not know either."""

    def get(self, key: str, default: object = None) -> object:
        if key == "HOME":
            raise home.NoHome
        return super().get(key, default)


def test_without_a_home_it_says_so(capsys: pytest.CaptureFixture) -> None:
    assert main(["context"], Nowhere()) == 1
    assert "set POPKIT_HOME (or HOME)" in capsys.readouterr().err


def test_only_the_called_command_is_imported() -> None:
    code = "import sys; from popkit_retention.cli.main import main; main(['--version']); print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    loaded = done.stdout.split("\n")[1].split()
    assert "popkit_retention.cli.main" in loaded
    assert not [name for name in loaded if name.endswith("_command")]


def test_where_the_encoding_has_no_blocks_plain_ascii_is_drawn(shell: Shell) -> None:
    shell.session("one")
    done = shell.alone("context timeline --session one", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    drawn = done.stdout.decode("ascii")
    assert "T1   Read src/auth.ts         [###...........] edited at T4" in drawn
    assert "T1 --------> T14" in drawn
    assert all(len(line) <= 70 for line in drawn.splitlines())


def test_the_json_says_what_the_messages_hold_as_the_panel_does(shell: Shell) -> None:
    shell.session("one")
    _, shown, _ = shell("context", "retention", "--session", "one")
    _, told, _ = shell("context", "retention", "--session", "one", "--json")
    contents = json.loads(told)["contents"]
    tokens = sum(row["tokens"] for row in contents["rows"])
    assert f"Messages {units.long_tokens(tokens)}, estimated for the newest request: " in " ".join(shown.split())
    assert not contents["is_counted"]
    assert set(contents["added"]) == {"times", "tokens", "times_again", "tokens_again"}


def test_a_reader_that_leaves_early_is_not_an_error(shell: Shell) -> None:
    shell.session("one")
    done = shell.alone("context retention --json --session one | head -c 10")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize(("into", "code", "message"), [(">/dev/full", 1, b"No space left"), (">&-", 0, b"")])
@pytest.mark.parametrize("words", ["context retention --session one", "help", "restore list"])
def test_where_nothing_can_be_written_it_says_so_in_a_line(shell: Shell, words: str, into: str, code: int, message: bytes) -> None:
    shell.session("one")
    done = shell.alone(f"{words} {into}")
    assert done.returncode == code
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == code


@pytest.mark.parametrize(
    ("environ", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(shell: Shell, environ: dict, coloured: bool) -> None:
    shell.session("one")
    shown = pexpect.run(f"{COMMAND} context --session one", env={**shell.env, **environ}, encoding="utf-8", timeout=HANG_S)
    assert ("\x1b[" in shown) is coloured
    assert "\x1b[" not in shell.alone("context --session one").stdout.decode()


@pytest.mark.parametrize("how", ["session", "transcript"])
def test_the_commands_that_an_answer_gives_name_the_same_session(shell: Shell, how: str) -> None:
    written = shell.session("one")
    shell.session("newer", changed=9_000_000_000.0)
    named = ["--session", "one"] if how == "session" else ["--transcript", str(written.path)]
    for words in (["clear", "--dry-run"], ["retention"], ["why", "T3"]):
        given = [line.strip() for line in shell("context", *words, *named)[1].splitlines() if "popkit context" in line]
        assert given
        assert all(" ".join(named) in line for line in given)
    offered = [line.split()[1:] for line in shell("context", "clear", "--dry-run", *named)[1].splitlines() if line.startswith("  popkit")]
    code, shown, _ = shell(*offered[-1], "--json")
    answer = json.loads(shown)
    if how == "session":
        assert (code, answer["session"]) == (0, "one")
    else:
        assert (code, "--transcript is for reading" in answer["error"]) == (1, True)


def test_of_a_transcript_only_what_reads_is_offered(shell: Shell) -> None:
    written = shell.session("one")
    for named, offered in (["--session", "one"], True), (["--transcript", str(written.path)], False):
        shown = shell("context", "retention", *named)[1]
        assert ("retention --profile NAME" in shown) == offered
        assert "retention --details" in shown


@pytest.mark.parametrize("words", ["clear --now", "undo", "pin T3", "restore T1 --in-place", "retention --aggressive", "auto on"])
def test_through_a_transcript_a_session_is_only_read(shell: Shell, words: str) -> None:
    written = shell.session("one")
    code, _, error = shell("context", *words.split(), "--transcript", str(written.path))
    assert (code, "--transcript is for reading. To change a session, name it: --session ID" in " ".join(error.split())) == (1, True)


def _stored(folder: Path) -> dict[str, bytes]:
    """What PopKit keeps in a folder, but for what it has compiled of its configuration."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "cache"}


@pytest.mark.parametrize(
    "words", ["retention", "timeline", "why", "why T3", "stats", "stats --details", "clear --dry-run", "clear --now --dry-run", "auto show"]
)
def test_to_read_a_transcript_leaves_no_trace(shell: Shell, tmp_path: Path, words: str) -> None:
    shell.session("mine")
    shell("context", "stats", "--session", "mine")
    before = _stored(shell.claude)
    theirs = spec_session(tmp_path / "copies", session="theirs")
    code, shown, error = shell("context", *words.split(), "--transcript", str(theirs.path))
    assert (code, bool(shown), error) == (0, True, "")
    assert _stored(shell.claude) == before


def test_the_figures_of_a_transcript_that_is_only_read_are_its_own(shell: Shell, tmp_path: Path) -> None:
    shell.session("mine")
    mine = json.loads(shell("context", "stats", "--session", "mine", "--json")[1])
    theirs = spec_session(tmp_path / "copies", session="theirs", project="/home/dev/other")
    read = json.loads(shell("context", "stats", "--transcript", str(theirs.path), "--json")[1])
    assert (read["session"]["results"], read["session"]["sessions"]) == (14, 1)
    assert read["all"] == mine["all"]
    assert read["project"]["sessions"] == 0


def test_an_answer_uses_the_width_that_its_terminal_has(shell: Shell) -> None:
    shell.session("one")
    widths = {}
    for columns in (64, 80, 100):
        line, env = f"{COMMAND} context retention --details --session one", {**shell.env, "NO_COLOR": "1"}
        child = pexpect.spawn(line, env=env, encoding="utf-8", dimensions=(24, columns), timeout=HANG_S)
        child.expect(pexpect.EOF)
        answers = [line for line in child.before.split("\r\n") if "popkit context" not in line]
        widths[columns] = max(map(len, answers))
        assert widths[columns] < columns
    assert widths[64] < widths[80] < widths[100]
