"""Panel, status line, notice, dry run and clear give the same numbers, for a cold cache, a warm one and a full context."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from popkit_retention.cli.statusline_command import line_for
from popkit_retention.core import units
from popkit_retention.core.handlers import context_monitor
from popkit_retention.core.hosts.transcripts import sent
from popkit_retention.core.policy.ruleset import PROFILES
from popkit_retention.core.state.site import Site
from popkit_retention.lab.try_command import report_of
from tests.reclaim.earlier import answer
from tests.views.test_clear_answers import COLD_S, Asking
from tests.views.test_clear_auto_answers import wandered
from tests.views.written import PROJECT, Written, long_session, spec_session

SESSIONS = [wandered, long_session, spec_session]


@pytest.fixture(params=SESSIONS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    return request.param(tmp_path / "projects")


def _notice(asking: Asking, window: int) -> str:
    """What a hook tells at the end of a turn, when the context fills a window of so many tokens."""
    written = asking.written
    config = json.loads((asking.home / "retention-config.json").read_text())
    (asking.home / "retention-config.json").write_text(json.dumps({**config, "window_tokens": window}))
    payload = {"session_id": written.session, "transcript_path": str(written.path), "cwd": PROJECT, "hook_event_name": "Stop"}
    hook_output = context_monitor.handle(payload, {"POPKIT_HOME": str(asking.home), "POPKIT_CLOCK": str(written.now)})
    return hook_output["systemMessage"] if hook_output else ""


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("cold_s", [0, COLD_S])
def test_what_the_panel_calls_reclaimable_is_what_a_clear_takes(written: Written, tmp_path: Path, profile: str, cold_s: float) -> None:
    asking = Asking(written, tmp_path / "home", profile)
    written.now += cold_s
    panel, dry = asking.data("retention"), asking.data("clear --dry-run")
    now, cold = panel["reclaimable"]["now"], panel["reclaimable"]["cold"]
    assert {name: dry["cold"][name] for name in cold} == cold
    assert (dry["items"], dry["tokens"]) == (now["items"], now["tokens"]) or not dry["pays"]
    done = asking.data("clear")
    assert done["cleared"] is bool(now["items"])
    assert (done["items"] if done["cleared"] else 0) == now["items"]
    assert done["tokens"] == now["tokens"] or not done["cleared"]
    taken = {row["id"] for row in panel["results"] if row["plan"] and row["plan"]["action"] == "clear"}
    assert taken == ({row["id"] for row in done["results"]} if done["cleared"] else set())


def test_what_is_reclaimable_once_the_cache_is_cold_is_what_a_clear_takes_then(written: Written, tmp_path: Path) -> None:
    asking = Asking(written, tmp_path / "home", "auto")
    cold = asking.data("retention")["reclaimable"]["cold"]
    written.now += COLD_S
    data = asking.data("retention")["reclaimable"]
    assert data["now"] == data["cold"]
    assert abs(data["now"]["tokens"] - cold["tokens"]) <= cold["tokens"] / 5, "a little more may have expired by the clock"
    assert asking.data("clear")["items"] == data["now"]["items"]


@pytest.mark.parametrize(("share", "full"), [(0.85, "85%"), (0.997, "99%")])
def test_the_notice_says_what_the_panel_says_and_the_clear_does_it(tmp_path: Path, share: float, full: str) -> None:
    written = wandered(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += COLD_S
    tokens = asking.data("retention")["context"]["tokens"]
    notice = _notice(asking, round(tokens / share))
    assert f"the context is {full} full" in notice
    assert f"({full})" in asking("retention")
    assert _verdict(asking).startswith("Clear now: ")
    assert _verdict(asking) in " ".join(notice.split())
    assert asking.data("clear")["cleared"] is True


@pytest.mark.parametrize(("share", "says"), [(0.85, ""), (0.97, "Full: /compact ")])
def test_the_notice_asks_nobody_to_wait(tmp_path: Path, share: float, says: str) -> None:
    written = wandered(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    tokens = asking.data("retention")["context"]["tokens"]
    notice = _notice(asking, round(tokens / share))
    assert _verdict(asking).startswith("Not yet: ")
    assert "Not yet" not in notice
    assert says in notice
    assert bool(notice) is bool(says)


def _with_little_to_clear(folder: Path) -> Written:
    written = Written(folder)
    written.say("look")
    written.bash("npm test", "Tests: 1 passed\n" * 30)
    for number in range(3):
        written.call("Read", {"file_path": f"{written.project}/src/{number}.ts"}, f"export const n{number} = {number}\n" * 300)
    return written


def test_a_full_context_with_little_to_clear_is_for_compact(tmp_path: Path) -> None:
    written = _with_little_to_clear(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += COLD_S
    tokens = asking.data("retention")["context"]["tokens"]
    notice = _notice(asking, round(tokens / 0.92))
    assert "Full, and little to clear: /compact" in notice
    assert "[1] Compact:        /compact" in asking("retention")


@pytest.mark.parametrize("cold_s", [0, COLD_S])
@pytest.mark.parametrize("line", ["clear", "clear --dry-run", "clear docs/**"])
def test_an_empty_clear_in_a_full_context_ends_in_the_panel_s_verdict(tmp_path: Path, cold_s: float, line: str) -> None:
    written = _with_little_to_clear(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += cold_s
    _notice(asking, round(asking.data("retention")["context"]["tokens"] / 0.92))
    joined = _joined(asking(line))
    assert joined.startswith("Nothing to clear")
    assert joined.endswith("Full, and little to clear: /compact (what is dead goes first)")
    assert joined.endswith(_verdict(asking))
    assert asking.data(line)["verdict"] == asking.data("retention")["verdict"]


def test_a_clear_that_names_nothing_ends_in_what_to_do_instead(tmp_path: Path) -> None:
    written = wandered(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    joined = _joined(asking("clear docs/**"))
    assert _verdict(asking).startswith("Not yet: in ")
    assert joined.partition(" the cache is cold, ")[2] == _verdict(asking).partition(" the cache is cold, ")[2] != ""
    written.now += COLD_S
    assert _joined(asking("clear docs/**")).endswith(_verdict(asking))
    assert _verdict(asking).startswith("Clear now: ")


def _verdict(asking: Asking) -> str:
    return _joined(asking("retention").split("\n\n")[-2])


def _joined(lines: str) -> str:
    return " ".join(lines.split())


def test_where_there_is_nothing_to_do_no_notice_comes(tmp_path: Path) -> None:
    written = Written(tmp_path / "projects")
    written.say("look")
    written.read("src/a.ts")
    asking = Asking(written, tmp_path / "home", "auto")
    tokens = asking.data("retention")["context"]["tokens"]
    assert _notice(asking, round(tokens / 0.85)) == ""
    assert "Nothing to do: everything in the context is worth keeping" in asking("retention")


def test_a_transcript_that_a_clear_refuses_has_nothing_to_reclaim(tmp_path: Path) -> None:
    written = wandered(tmp_path / "projects")
    lines = written.path.read_text().splitlines(keepends=True)
    written.path.write_text("".join([*lines[:9], "not a line of the host's\n", *lines[9:]]))
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += COLD_S
    data = asking.data("retention")
    assert data["reclaimable"]["now"] == data["reclaimable"]["cold"] == {"items": 0, "tokens": 0, "further": 0}
    assert "Nothing to do: PopKit leaves this transcript alone" in asking("retention")
    assert "so nothing was changed" in asking("clear")
    assert _notice(asking, round(data["context"]["tokens"] / 0.85)) == ""


def test_the_status_line_says_the_same_until_a_call_comes(written: Written, tmp_path: Path) -> None:
    asking = Asking(written, tmp_path / "home", "auto")
    cold = asking.data("retention")["reclaimable"]["cold"]["tokens"]
    payload = json.dumps({"session_id": written.session, "transcript_path": str(written.path), "cwd": PROJECT})

    def shown() -> str:
        return line_for(payload, {"POPKIT_HOME": str(asking.home), "POPKIT_CLOCK": str(written.now), "NO_COLOR": "1"})

    assert f"{units.tokens(cold)} reclaimable when cold" in shown()
    written.now += COLD_S
    assert f"{units.tokens(cold)} reclaimable · cache cold" in shown()
    asking("clear")  # noted for later: nothing has left yet
    assert f"{units.tokens(cold)} reclaimable · cache cold" in shown()


def test_try_takes_what_a_clear_would_take_with_a_cold_cache(written: Written, tmp_path: Path) -> None:
    data = report_of(str(written.path), PROJECT, {"POPKIT_HOME": str(tmp_path / "none")})
    assert data["reclaimable"]["now"] == data["reclaimable"]["cold"]
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += COLD_S
    now = asking.data("retention")["reclaimable"]["now"]
    assert abs(now["tokens"] - data["reclaimable"]["now"]["tokens"]) <= now["tokens"] / 5, "a little more may have expired by the clock"


@pytest.mark.parametrize("cold_s", [0, COLD_S])
def test_who_only_reads_a_transcript_is_told_what_its_session_is_told(written: Written, tmp_path: Path, cold_s: float) -> None:
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += cold_s
    site = Site({"POPKIT_HOME": str(asking.home)}, written.session, PROJECT, only_reads=True)
    read = json.loads(answer("retention --json", site, str(written.path), written.now))
    data = asking.data("retention")
    assert [read[name] for name in ("reclaimable", "expired", "verdict")] == [data[name] for name in ("reclaimable", "expired", "verdict")]


def test_the_panel_and_the_bill_count_the_same_calls_whatever_line_comes_first(written: Written, tmp_path: Path) -> None:
    asking = Asking(written, tmp_path / "home", "auto")
    lines = written.path.read_text().splitlines(keepends=True)
    calls = [at for at, line in enumerate(lines) if '"tool_use"' in line and '"tool_result"' in lines[at + 1]]
    for at in calls[1::3]:
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    written.path.write_text("".join(lines))
    session = sent.read(str(written.path), written.path.stat().st_size)
    assert asking.data("retention")["calls"] == sum(count for count, _ in session.calls.values())
    assert "result " not in session.holds


OPENED: list = []


def _note(event: str, args: tuple) -> None:
    if event == "open" and OPENED and args[0] == OPENED[0]:
        OPENED.append(args[0])


def _opens(asking: Asking, line: str) -> int:
    """How often an answer opens the transcript."""
    if not hasattr(sys, "_popkit_counts_opens"):
        sys.addaudithook(_note)
        sys._popkit_counts_opens = True
    path = str(asking.written.path)
    OPENED[:] = [path]
    answer(line, asking.written.site(asking.home), path, asking.written.now)
    asking.written.now += 1
    found = len(OPENED) - 1
    OPENED.clear()
    return found


READ_ONCE = 2  # for its chain, and for what it holds
OF_PANEL = 1  # for what the newest request sent


@pytest.mark.parametrize(
    "line", ["retention", "why T3", "pin T3", "unpin T3", "retention --profile spec", "stats", "clear --dry-run", "clear"]
)
def test_an_answer_reads_the_transcript_once(tmp_path: Path, line: str) -> None:
    asking = Asking(wandered(tmp_path / "projects"), tmp_path / "home", "auto")
    if line.startswith("unpin"):
        asking("pin T3")
    assert _opens(asking, line) == READ_ONCE + OF_PANEL * line.startswith("retention")
