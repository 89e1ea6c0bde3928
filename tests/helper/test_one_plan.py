"""What would leave now has one answer, whoever asks and wherever it stands; and once that is done there is nothing left to take."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from popkit_retention.cli.statusline_command import line_for
from popkit_retention.core import units
from popkit_retention.core.helper.compactions import Compactions
from popkit_retention.core.operations import context_words
from popkit_retention.core.operations.changers import DeferredChanger
from popkit_retention.core.state.noted import ONLY, SessionNotes
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import phrases
from popkit_retention.dashboard.contexts import CachedContext, brief_of

from .asking import Helper, lines, numbered
from .running import Running
from .test_sizes import Watched, stamp


def worked(helper: Helper, reads: int = 24, quiet: int = 0) -> Helper:
    """A session whose cache is cold: some of what was read has been edited since, all of it so many calls ago."""
    transcript = helper.has_read("app.py", lines(400))
    for number in range(reads):
        path = str(helper.project / f"part{number}.py")
        transcript.called(f"toolu_2{number}", "Read", {"file_path": path}, numbered(lines(220, f"part_{number}_")))
        if number % 3 == 0:
            changes = {"file_path": path, "old_string": f"part_{number}_ " * 60, "new_string": f"new_{number}_ " * 60}
            transcript.called(f"toolu_3{number}", "Edit", changes, "The file has been updated.")
    for number in range(quiet):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(120_000)
    return helper


@pytest.fixture(params=[0, 6])
def busy(helper: Helper, request: pytest.FixtureRequest) -> Helper:
    return worked(helper, quiet=request.param)


def said(helper: Helper, *words: str) -> dict[str, Any]:
    return json.loads(helper.run("context", *words, "--json", "--session", helper.session))


def site_of(helper: Helper) -> Site:
    return Site(helper.env, helper.session, str(helper.project))


def answers(helper: Helper) -> dict[str, int]:
    """place -> tokens that it says would leave now."""
    report, dry, auto = said(helper, "retention"), said(helper, "clear", "--dry-run"), said(helper, "auto", "show")
    now = float(helper.env.get("POPKIT_CLOCK") or time.time())
    page = CachedContext("", site_of(helper), str(helper.transcript), now)
    brief = brief_of(page, 0.0)
    return {
        "retention": report["reclaimable"]["now"]["tokens"],
        "retention, once cold": report["reclaimable"]["cold"]["tokens"],
        "verdict": report["verdict"]["tokens"] if report["verdict"]["kind"] == "clear" else 0,
        "clear --dry-run": dry["tokens"] if dry["pays"] else 0,
        "auto show": auto["tokens"],
        "page": page.report["reclaimable"]["now"]["tokens"],
        "list of the page": brief.now,
        "status line": site_of(helper).session.planned["now"],
    }


def shown(helper: Helper) -> dict[str, str]:
    """place -> what it says in words."""
    view = helper.ask("/view", {"columns": 100, "rows": 40})
    status = json.dumps({"session_id": helper.session, "transcript_path": str(helper.transcript), "cwd": str(helper.project)})
    return {
        "pane": " ".join(view["pane"]["head"]),
        "band": view["band"]["text"] if view["band"] else "",
        "reclaimable": " ".join(" ".join(view["pane"]["lines"]).partition("Reclaimable: ")[2].split()),
        "status line": line_for(status, {**helper.env, "NO_COLOR": "1"}),
    }


def does_what_the_plan_says(helper: Helper, client: Running) -> str:
    """Press Clear, and let the client compact; what the person is told."""
    helper.ask("/press", {"id": "clear"})
    answer = client.compacts(own=True)
    assert "rows" in answer, answer
    return answer["notice"]


def test_every_place_says_the_same_of_a_cold_cache(busy: Helper):
    found = answers(busy)
    assert len(set(found.values())) == 1, found
    (tokens,) = set(found.values())
    assert tokens > 20_000
    words = shown(busy)
    usd = said(busy, "auto", "show")["usd"]
    assert words["pane"] == words["band"]
    assert words["pane"].startswith(f"Clear now: the cache is cold, so {units.short_tokens(tokens)} leave{phrases.saves(usd)}")
    assert words["reclaimable"].startswith(f"{units.long_tokens(tokens)}, from ")
    assert f"{units.tokens(tokens)} reclaimable" in words["status line"]


def test_clear_and_yes_on_a_pane_say_one_amount_and_do_the_same(helper_with):
    left = []
    for press in ("clear", "auto on"):
        helper = worked(helper_with({"auto_misses": 100}))
        operations = {each["id"]: each["sum"] for each in helper.ask("/view", {})["pane"]["operations"]}
        assert not re.search(r"~|\dk", operations["clear"] + operations["auto on"]), "the amount stands above both, once"
        helper.ask("/press", {"id": press})
        helper.ask("/view", {})
        answer = Running(helper).compacts(own=True)
        entry = next(entry for entry in helper.journal() if entry["event"] == "compact")
        helper.ask("/view", {})  # the receipt is written after the answer
        [receipt] = said(helper, "why")["receipts"]
        calls = [(each["id"], [part["kind"] for part in each["left"]], each["tokens"]) for each in receipt["calls"]]
        left.append((answer["notice"], entry["why"], calls))
        helper.stop()
    assert left[0] == left[1]


def test_it_leaves_what_was_announced(busy: Helper):
    announced = answers(busy)["verdict"]
    does_what_the_plan_says(busy, Running(busy))
    entry = next(entry for entry in busy.journal() if entry["event"] == "compact")
    assert entry["before"] - entry["after"] == pytest.approx(announced, rel=0.25)


def test_after_it_there_is_nothing_left_to_take(busy: Helper):
    client = Running(busy)
    does_what_the_plan_says(busy, client)
    assert set(answers(busy).values()) == {0}
    words = shown(busy)
    assert words["pane"].startswith("Nothing to do: ")
    assert words["band"] == ""
    assert "skip" in client.compacts(own=True)


def test_nor_after_the_next_request_and_another_pause(busy: Helper):
    does_what_the_plan_says(busy, Watched(busy))
    entries = [json.loads(line) for line in busy.transcript.read_text().splitlines()]
    stands = said(busy, "retention")["context"]["tokens"]
    answered = {
        "type": "assistant", "uuid": "later", "parentUuid": entries[-1]["uuid"], "timestamp": stamp(time.time()),
        "sessionId": busy.session, "cwd": str(busy.project), "isSidechain": False, "version": "2.1.330",
        "message": {
            "id": "later", "role": "assistant", "model": "claude-opus-4-8", "content": [{"type": "text", "text": "done"}],
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": stands, "output_tokens": 2},
        },
    }  # fmt: skip
    with busy.transcript.open("a") as file:
        file.write(json.dumps(answered) + "\n")
    busy.env["POPKIT_CLOCK"] = str(time.time() + 3_600)
    context = said(busy, "retention")["context"]
    assert (context["measured"], context["cache"]) == (True, "cold")
    assert set(answers(busy).values()) == {0}


def test_a_clear_of_a_session_that_does_not_run_is_noted_with_what_is_needed_least(busy: Helper):
    busy.stop()
    announced = answers(busy)["verdict"]
    site = site_of(busy)
    answer = context_words.answer("clear --json", site, str(busy.transcript), time.time(), DeferredChanger(site))
    assert json.loads(answer)["later"] is True
    noted = SessionNotes(busy.env["POPKIT_HOME"], busy.session)
    assert 0 < (noted.share or 0) <= 1
    verdict = said(busy, "retention")["verdict"]
    assert (verdict["kind"], verdict["tokens"]) == ("noted", announced)
    wanted = Compactions(noted, str(busy.transcript)).wanted
    assert wanted is not None
    assert (wanted.why, wanted.target, list(wanted.ids)) == ("cold", noted.share, noted.only)
    assert noted.forget(ONLY)
    assert not noted.has_clear
    assert said(busy, "retention")["verdict"]["kind"] == "clear"


def test_a_clear_that_finds_the_cache_warm_again_takes_only_the_results_it_named(busy: Helper):
    busy.ask("/press", {"id": "clear"})
    warm = json.loads(busy.transcript.read_text().splitlines()[-1])
    warm.update(timestamp=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), uuid="warm", parentUuid=warm["uuid"])
    warm["message"]["id"] = "warm"
    with busy.transcript.open("a") as file:
        file.write(json.dumps(warm) + "\n")
    assert "rows" in Running(busy).compacts(own=True)
    entry = next(entry for entry in busy.journal() if entry["event"] == "compact")
    assert entry["why"] == "asked"
