"""What people read of sessions that other hosts have recorded: found by host, id, folder or database, and called by the host's own name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from tests.hosts import stores
from tests.hosts.rollouts import Rollout
from tests.hosts.test_copilot import RECORDED as COPILOT_SESSION
from tests.hosts.test_opencode import SESSION, Export, called, worked
from tests.hosts.test_opencode_storage import OTHER
from tests.hosts.test_pi import FOLDER as PI_SESSIONS
from tests.hosts.test_pi import PROJECT
from tests.views.written import Written

GOLDENS = Path(__file__).parent / "goldens" / "hosts"
HOSTS = ("claude-code", "codex", "opencode", "pi", "copilot")
LATER_MS = 4_000_000  # longer than any cache lives
ROLLOUT = "rollout-2026-09-21T10-00-00-019a2f00-1111-7222-8333-444455556666.jsonl"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Places for all hosts, nothing in them."""
    return {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "popkit"), "CODEX_HOME": str(tmp_path / "codex"),
        "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path),
    }  # fmt: skip


def _of_claude_code(folder: Path) -> None:
    written = Written(folder / "claude" / "projects" / "-home-dana-shop", session="shop", project="/home/dana/shop")
    written.say("Fix the prices.")
    for _ in range(4):
        written.read("src/prices.js")
    written.ends()
    written.now += LATER_MS // 1_000
    written.say("And now?")
    for name in ("a.js", "b.js", "c.js"):
        written.read(name)
    written.ends()


def _rollout() -> Rollout:
    rollout = Rollout(project="/home/dana/shop")
    rollout.say("Fix the prices.")
    for _ in range(3):
        rollout.run("cat src/prices.js", "const a = 1\n" * 40)
    rollout.now += LATER_MS // 1_000
    rollout.read = 0
    rollout.say("And now?")
    for name in ("a.js", "b.js", "c.js"):
        rollout.run(f"cat src/{name}", "const b = 1\n" * 40)
    return rollout


def _of_codex(folder: Path) -> None:
    path = folder / "codex" / "sessions" / "2026" / "09" / "21" / ROLLOUT
    path.parent.mkdir(parents=True)
    path.write_bytes(_rollout().data())


def _of_opencode(folder: Path) -> None:
    session = worked()
    session.at += LATER_MS
    session.say("And now?")
    for number in range(3):
        call = called(f"d{number}", "bash", {"command": "cat src/prices.js"}, "const a = 1\n" * 40, exit=0)
        call["state"]["time"] = {"start": session.at, "end": session.at}
        session.answer(call, read=9_800 * bool(number), written=9_800 if not number else 200)
    stores.database(folder / "data" / "opencode", session)


def _of_pi(folder: Path) -> None:
    recorded = (PI_SESSIONS / "anthropic.jsonl").read_text().replace(PROJECT, "/home/dana/shop")
    id = json.loads(recorded.partition("\n")[0])["id"]
    path = folder / ".pi" / "agent" / "sessions" / "--home-dana-shop--" / f"2026-11-28T19-16-26-010Z_{id}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(recorded)


def _of_copilot(folder: Path) -> None:
    recorded = COPILOT_SESSION.read_text().replace(PROJECT, "/home/dana/shop").replace("gpt-4.1", "gpt-5.4")  # of a known price
    id = json.loads(recorded.partition("\n")[0])["data"]["sessionId"]
    path = folder / ".copilot" / "session-state" / id / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(recorded)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A host that has one session of that shop, whose cache went cold in between."""
    writers = {"claude-code": _of_claude_code, "codex": _of_codex, "opencode": _of_opencode, "pi": _of_pi, "copilot": _of_copilot}
    writers[request.param](tmp_path)
    return request.param


def answer(capsys: pytest.CaptureFixture, environ: dict[str, str], *words: str) -> str:
    code = main([*words], environ)
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


@pytest.mark.parametrize("command", ["try", "bill", "misses"])
def test_each_hosts_sessions_are_called_by_its_name(host: str, command: str, environ: dict, capsys: pytest.CaptureFixture, golden) -> None:
    since = ["--since", "2020-01-01"] if command != "try" and host == "claude-code" else []
    is_old = host in ("pi", "copilot")  # their sessions are as they were recorded, and not of the last days
    clock = {"POPKIT_CLOCK": "4000000000"} if is_old else {}
    shown = answer(capsys, {**environ, **clock, "CLAUDE_PROJECT_DIR": "/home/dana/shop"}, command, *since, "--host", host)
    shown = shown.partition("Install PopKit to get this in every session as")[0]
    assert ("Claude" in shown) == (host == "claude-code" and command == "bill")
    golden(GOLDENS / f"{command}-{host}.txt", shown)


def test_the_lab_names_no_host_but_the_policies_own(host: str, environ: dict, capsys: pytest.CaptureFixture) -> None:
    shown = answer(capsys, environ, "lab", "--host", host, "--policy", "auto", "--ttl", "5m", "--jobs", "1")
    assert "1 session, 1 repository" in shown
    assert "Claude" not in shown


def test_memory_learns_from_the_project_s_sessions_of_a_host(host: str, environ: dict, tmp_path: Path, capsys) -> None:
    place = tmp_path / "shop"
    place.mkdir(exist_ok=True)
    found = json.loads(
        answer(capsys, environ, "memory", "admin", "learn", "--past", "--host", host, "--json", "--project", "/home/dana/shop")
    )
    assert found["sessions"] == 1


def test_memory_says_where_it_has_looked_for_sessions_of_a_project(environ: dict, tmp_path: Path, capsys) -> None:
    _of_codex(tmp_path)
    assert main(["memory", "admin", "learn", "--past", "--host", "codex", "--project", str(tmp_path)], environ) == 1
    assert f"under{tmp_path}/codex/sessions.Nametranscriptfilesinstead" in "".join(capsys.readouterr().err.split())


# --- naming a session of OpenCode --------------------------------------------------------------------------------------------------------


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    """The database of a user with two projects, the other one's session the newer."""
    newer = worked(OTHER, "/home/dana/other")
    newer.say("and now?")
    return stores.database(tmp_path / "data" / "opencode", worked(project=str(tmp_path / "shop")), newer)


def tried(capsys: pytest.CaptureFixture, environ: dict[str, str], *words: str) -> str:
    return json.loads(answer(capsys, environ, "try", "--json", *words))["session"]


def test_it_is_named_by_id_by_how_it_begins_by_folder_by_database_and_by_address(shops: Path, environ: dict, capsys) -> None:
    assert tried(capsys, environ, SESSION) == SESSION
    assert tried(capsys, environ, OTHER[:-1] + "2") == OTHER
    assert tried(capsys, environ, str(shops)) == OTHER
    assert tried(capsys, environ, str(shops.parent)) == OTHER
    assert tried(capsys, environ, f"{shops}/{SESSION}") == SESSION
    assert main(["try", "ses_7f3"], environ) == 1
    assert "2 sessions begin with ses_7f3" in capsys.readouterr().err


def test_this_projects_newest_comes_before_all_others(shops: Path, environ: dict, tmp_path: Path, capsys, monkeypatch) -> None:
    assert tried(capsys, environ, "--host", "opencode") == OTHER
    (tmp_path / "shop" / "src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop" / "src")
    assert tried(capsys, environ, "--host", "opencode") == SESSION


def test_a_rollout_is_named_by_the_id_in_its_name(environ: dict, tmp_path: Path, capsys) -> None:
    _of_codex(tmp_path)
    assert tried(capsys, environ, "019a2f00") == "019a2f00-1111-7222-8333-444455556666"


def test_a_session_without_a_tool_call_is_passed_over(environ: dict, tmp_path: Path, capsys) -> None:
    talk = Export(OTHER)
    talk.at += LATER_MS
    talk.say("hello")
    stores.database(tmp_path / "data" / "opencode", worked(), talk)
    assert tried(capsys, environ, "--host", "opencode") == SESSION


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "entire"], "name the transcript that the agent itself has written"),
        (["--host", "opencode"], "there are no sessions of OpenCode with a tool call in"),
        (
            ["ses_none"],
            "no session ses_none in Claude Code, Codex, OpenCode, pi or Copilot CLI. Name a file or a folder of sessions",
        ),
        (["."], "there is no session with a tool call in it"),
    ],
)
def test_a_missing_session_is_reported(words: list, says: str, environ: dict, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["try", *words], environ) == 1
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_database_that_cannot_be_read_is_named_with_the_reason(environ: dict, tmp_path: Path, capsys) -> None:
    path = tmp_path / "data" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
    for words in (["try"], ["bill"], ["lab"]):
        assert main([*words, "--host", "opencode"], environ) == 1
        output = "".join("".join(capsys.readouterr()).split())
        assert str(path) in output
        assert "Traceback" not in output


def test_a_folder_of_many_forms_is_read_whole(environ: dict, tmp_path: Path, capsys) -> None:
    stores.database(tmp_path / "all" / "one", worked())
    stores.files(tmp_path / "all" / "two", worked(OTHER))
    (tmp_path / "all" / "three.jsonl").write_bytes(Rollout().data())
    found = json.loads(answer(capsys, environ, "lab", str(tmp_path / "all"), "--policy", "auto", "--ttl", "5m", "--json", "--jobs", "1"))
    assert found["sessions"] == 2
    assert found["skipped"] == {"no conversation": 1}
    assert len({row["digest"] for row in found["rows"]}) == 2


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"sessionId":"s1","projectHash":"ab","startTime":"2026-01-01T00:00:00Z","messages":[]}', "Gemini CLI"),
    ],
)
def test_a_recording_that_is_not_read_is_called_by_its_agent(line: str, name: str, environ: dict, tmp_path: Path, capsys) -> None:
    path = tmp_path / "all" / "events.jsonl"
    path.parent.mkdir()
    path.write_text(line + "\n")
    (path.parent / "read.jsonl").write_bytes((PI_SESSIONS / "openai.jsonl").read_bytes())
    assert main(["try", str(path)], environ) == 1
    assert f"is a recording of {name}, which PopKit does not read." in " ".join(capsys.readouterr().err.split())
    found = json.loads(answer(capsys, environ, "lab", str(path.parent), "--policy", "auto", "--ttl", "5m", "--json", "--jobs", "1"))
    assert found["skipped"] == {f"recorded by {name}, which is not read": 1}
