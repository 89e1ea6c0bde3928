"""`popkit check-compaction` over what each host records: the list as people read it, the way back of each row, mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.cli.main import main
from popkit_retention.core import archive
from popkit_retention.core.archive.chains import Chain
from popkit_retention.core.archive.records import NewRecord, add_records
from popkit_retention.core.io import home
from tests.hosts import stores
from tests.hosts.rollouts import Rollout
from tests.hosts.test_opencode import Export, called
from tests.views.written import Written

GOLDENS = Path(__file__).parent / "goldens" / "check-compaction"
RULE = "Never touch src/generated, and listen on port 8443."
SOURCE = "\n".join(f"export const price_of_part_{n} = (item) => round_to_cents(item.price * {n})" for n in range(9))
SUMMARY = "The person wants the prices fixed. I have read prices.js."


def of_claude_code(folder: Path) -> Path:
    written = Written(folder, session="shop", project="/home/dana/shop")
    written.say(f"Fix the prices. {RULE}")
    written.call("Read", {"file_path": "/home/dana/shop/src/prices.js"}, SOURCE)
    written.bash_fails("npm test", "FAIL src/prices.test.js\nexpected 3, got 4")
    written.compact("auto")
    written._line("user", {"role": "user", "content": SUMMARY}, isCompactSummary=True)
    written.ends()
    return written.path


def of_codex(folder: Path) -> Path:
    rollout = Rollout(project="/home/dana/shop")
    rollout.say(f"Fix the prices. {RULE}")
    rollout.run("cat src/prices.js", SOURCE)
    rollout.run("npm test", "FAIL src/prices.test.js\nexpected 3, got 4", 1)
    rollout.compact(SUMMARY)
    rollout.answer("done")
    return rollout.write(folder)


def exported(folder: Path) -> Export:
    export = Export()
    export.say(f"Fix the prices. {RULE}")
    export.answer(called("c1", "read", {"filePath": "/home/dana/shop/src/prices.js"}, SOURCE), written=9_000)
    export.answer(called("c2", "bash", {"command": "npm test"}, "FAIL src/prices.test.js\nexpected 3, got 4", exit=1), read=9_000)
    export._message("user", [{"type": "compaction", "auto": True}])
    export.answer({"type": "text", "text": SUMMARY}, read=9_200, summary=True, mode="compaction", agent="compaction")
    export.answer({"type": "text", "text": "done"}, read=300)
    return export


def of_opencode(folder: Path) -> Path:
    return exported(folder).write(folder)


def of_copilot(folder: Path) -> Path:
    start = {"sessionId": "shop", "copilotVersion": "1.0.102", "selectedModel": "gpt-5.4", "context": {"cwd": "/home/dana/shop"}}
    failed = "FAIL src/prices.test.js\nexpected 3, got 4\n<shellId: 0 completed with exit code 1>"
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", start),
        ("user.message", {"content": f"Fix the prices. {RULE}"}),
        *_called("c1", "view", {"path": "/home/dana/shop/src/prices.js"}, SOURCE),
        *_called("c2", "bash", {"command": "npm test"}, failed),
        ("session.compaction_start", {}),
        ("session.compaction_complete", {"success": True, "summaryContent": SUMMARY}),
        ("assistant.message", {"messageId": "m3", "content": "done"}),
    ]
    lines = [{"type": kind, "data": data, "timestamp": "2026-09-21T10:00:00.000Z"} for kind, data in events]
    path = folder / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _called(id: str, tool: str, given: dict[str, Any], content: str) -> list[tuple[str, dict[str, Any]]]:
    request = {"toolCallId": id, "name": tool, "arguments": given}
    return [
        ("assistant.message", {"messageId": f"m-{id}", "content": "", "toolRequests": [request]}),
        ("tool.execution_complete", {"toolCallId": id, "success": True, "result": {"content": content}}),
    ]


# Hosts whose summary may lack what the person said, and all.
HOSTS: dict[str, Callable[[Path], Path]] = {"claude-code": of_claude_code, "codex": of_codex, "opencode": of_opencode}
ALL = {**HOSTS, "copilot": of_copilot}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "popkit"), "CODEX_HOME": str(tmp_path / "codex"),
        "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path),
    }  # fmt: skip


class Checked:
    """The command, run in a home."""

    def __init__(self, environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
        self.environ, self.capsys = environ, capsys

    def shown(self, *words: object) -> str:
        code = main(["check-compaction", *map(str, words)], self.environ)
        out, err = self.capsys.readouterr()
        assert code == 0, err
        return out

    def found(self, path: object, *words: object) -> dict[str, Any]:
        [newest, *_] = json.loads(self.shown(path, "--json", *words))["compactions"]
        return newest

    def refused(self, *words: object) -> str:
        assert main(["check-compaction", *map(str, words)], self.environ) == 1
        return " ".join(self.capsys.readouterr().err.split())


@pytest.fixture
def check(environ: dict[str, str], capsys: pytest.CaptureFixture) -> Checked:
    return Checked(environ, capsys)


@pytest.mark.parametrize("host", ALL)
def test_the_list_of_each_host_as_people_read_it(host: str, check: Checked, tmp_path: Path, golden) -> None:
    shown = check.shown(ALL[host](tmp_path / "place"))
    golden(GOLDENS / f"{host}.txt", shown.partition("To read what a row leads to")[0])


@pytest.mark.parametrize("host", HOSTS)
def test_each_way_back_leads_to_the_text(host: str, check: Checked, tmp_path: Path) -> None:
    path = HOSTS[host](tmp_path / "place")
    found = check.found(path)
    assert [row["kind"] for row in found["rows"]][:2] == ["said", "error"]
    for row in found["rows"]:
        texts = [check.shown(path, "--show", way["line"]) for way in row["ways"]]
        assert all(any(word in text for text in texts) for word in row["words"]), row


@pytest.mark.parametrize("host", HOSTS)
def test_what_the_person_said_is_listed_where_the_summary_lacks_it(host: str, check: Checked, tmp_path: Path) -> None:
    found = check.found(HOSTS[host](tmp_path / "place"))
    assert found["rows"][0]["words"] == [RULE, "Fix the prices."]
    assert (found["sentences"], found["errors"], found["without_model"]) == (2, 1, False)


def test_a_summary_of_copilots_loses_no_word_that_the_person_said(check: Checked, tmp_path: Path) -> None:
    path = of_copilot(tmp_path / "place")
    found = check.found(path)
    assert (found["sentences"], found["errors"], found["without_model"]) == (0, 1, False)
    assert found["rows"][0]["kind"] == "error"
    assert "expected 3, got 4" in check.shown(path, "--show", found["rows"][0]["ways"][0]["line"])


def test_a_session_in_opencodes_own_storage_is_led_to_by_its_entries(check: Checked, tmp_path: Path) -> None:
    database = stores.database(tmp_path / "data" / "opencode", exported(tmp_path))
    rows = check.found(database)["rows"]
    assert all(way["line"] is None and way["entry"].startswith(("prt_", "msg_")) for row in rows for way in row["ways"])
    assert rows[0]["ways"][0]["entry"] in check.shown(database)


def test_what_is_archived_comes_back_by_its_handle(check: Checked, tmp_path: Path) -> None:
    path = of_claude_code(tmp_path / "place")
    db = archive.open_archive(home.archive_path(check.environ["POPKIT_HOME"]))
    add_records(db, Chain("shop", "shop"), [NewRecord("toolu_01Read", "Read", "Read prices.js", json.dumps(SOURCE))])
    db.close()
    handles = {way["handle"] for row in check.found(path)["rows"] for way in row["ways"]} - {""}
    assert len(handles) == 1
    assert f"restore {handles.pop()}" in check.shown(path)


def test_a_list_says_where_what_the_summary_says_is_not_recorded(check: Checked, tmp_path: Path) -> None:
    rollout = Rollout(project="/home/dana/shop")
    rollout.say(RULE)
    rollout.run("cat src/prices.js", SOURCE)
    rollout.compact(RULE)  # words that stay beside a summary that is encrypted
    rollout.answer("done")
    path = rollout.write(tmp_path)
    assert check.found(path)["partly_known"]
    assert "Codex does not record what its summary says" in " ".join(check.shown(path).split())
    assert not check.found(of_codex(tmp_path / "other"))["partly_known"]


def test_lines_says_how_long_the_list_is(check: Checked, tmp_path: Path) -> None:
    path = of_claude_code(tmp_path / "place")
    assert len(check.found(path, "--lines", 1)["rows"]) == 1 < len(check.found(path)["rows"])


def test_earlier_compactions_are_told_of_and_listed_if_asked_for(check: Checked, tmp_path: Path) -> None:
    written = Written(tmp_path, session="shop")
    for rule in ("Never touch src/generated.", "Listen on port 8443."):
        written.say(rule)
        written.ends()
        written.compact()
        written._line("user", {"role": "user", "content": SUMMARY}, isCompactSummary=True)
        written.ends()
    shown, whole = check.shown(written.path), check.shown(written.path, "--all")
    assert "1 earlier compaction" in shown
    assert ("src/generated" in shown, "port 8443" in shown) == (False, True)
    assert ("src/generated" in whole, whole.count("What the compaction lost")) == (True, 2)


def test_secrets_are_masked_in_the_list_and_in_the_text(check: Checked, tmp_path: Path) -> None:
    written = Written(tmp_path, session="shop")
    written.say("Log in with password=hunter2hunter2 on port 8443.")
    written.compact()
    written.ends()
    assert "hunter2" not in check.shown(written.path) + check.shown(written.path, "--show", 1)


def test_nothing_that_a_file_says_reaches_the_terminal_as_control(check: Checked, tmp_path: Path) -> None:
    written = Written(tmp_path, session="shop")
    written.say("Use \x1b]0;owned\x07 port 8443, please.")
    written.compact()
    assert "\x1b" not in check.shown(written.path) + check.shown(written.path, "--show", 1)


def test_a_transcript_without_a_compaction_says_so(check: Checked, tmp_path: Path) -> None:
    written = Written(tmp_path, session="shop")
    written.say("hello there")
    written.ends()
    assert "No compaction is in this transcript" in check.shown(written.path)
    assert json.loads(check.shown(written.path, "--json"))["compactions"] == []


def test_mistakes_say_what_to_do(check: Checked, tmp_path: Path) -> None:
    path = of_claude_code(tmp_path / "place")
    assert "No such file" in check.refused(tmp_path / "none.jsonl")
    assert "The list names the lines that have" in check.refused(path, "--show", 99)
    assert "Name a file or a folder of sessions, or the id of a session" in check.refused("an-unknown-id")
    assert "name a session: popkit check-compaction TRANSCRIPT. `popkit try` shows" in check.refused()
    database = stores.database(tmp_path / "data" / "opencode", exported(tmp_path))
    assert "Name a transcript or an export" in check.refused(database, "--show", 3)
