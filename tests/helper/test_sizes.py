"""The size of a context, wherever it is shown: before and after a clear, a compaction and an undo, with no request since."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from popkit_retention.cli.statusline_command import line_for
from popkit_retention.core import units
from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.state.site import Site
from popkit_retention.dashboard.contexts import CachedContext

from .asking import SESSION, Helper, Transcript, lines, numbered
from .running import Running

SYSTEM = 14_000  # tokens of system and tools
WINDOW = 200_000


class Now(Transcript):
    """A transcript whose entries come a second after one another, the last of them just now."""

    begins = 0.0

    def _add(self, kind: str, message: dict[str, Any]) -> None:
        super()._add(kind, message)
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        found[-1]["timestamp"] = stamp(self.begins + self.count)
        self.path.write_text("".join(json.dumps(entry) + "\n" for entry in found))


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


class Watched(Running):
    """A client whose compactions are written down when they are done."""

    def _writes(self, rows: list[dict[str, Any]], trigger: str) -> None:
        known = len(self.helper.transcript.read_text().splitlines())
        super()._writes(rows, trigger)
        found = [json.loads(line) for line in self.helper.transcript.read_text().splitlines()]
        at = stamp(time.time())
        for entry in found[known:]:
            entry["timestamp"] = at
        self.helper.transcript.write_text("".join(json.dumps(entry) + "\n" for entry in found))


def context(helper: Helper) -> dict[str, Any]:
    """The context as the panel has it."""
    found: dict[str, Any] = json.loads(helper.run("context", "retention", "--json", "--session", helper.session))["context"]
    return found


def places(helper: Helper) -> list[int]:
    """The tokens of the context in the pane, the panel, the list of the page and its chart; the status line has their share."""
    told = {"session_id": SESSION, "transcript_path": str(helper.transcript), "cwd": str(helper.project)}
    used = {"context_window_size": WINDOW, "current_usage": {"input_tokens": helper.prompt}}
    line = line_for(json.dumps({**told, "context_window": used}), helper.env)  # before anything else has looked
    looked = helper.ask("/view", {"page": "now", "columns": 100, "rows": 40})
    [shown] = [line for line in looked["pane"]["lines"] if line.startswith("Context")]
    site = Site(helper.env, SESSION, str(helper.project))
    newest = usage.newest_usage(str(helper.transcript))
    in_list = usage.stands(newest, site.session)
    cached = CachedContext("", site, str(helper.transcript), time.time())
    chart = cached.sampler.series(cached.outlook.rebuilt.conversation, cached.report).points[-1].tokens
    found = [number(shown.split()[1]), context(helper)["tokens"], in_list, chart]
    assert line.split(" · ")[0] == f"context {shown.split()[1][: -len(shown.split()[1].lstrip('~'))]}{found[1] / WINDOW:.0%}"
    return found


def number(word: str) -> int:
    return int(word.removeprefix("~").replace(",", ""))


@pytest.fixture
def worked(helper: Helper) -> Helper:
    """Reads of files of which the first three were edited since, so that a clear takes them."""
    Now.begins = time.time() - 60
    transcript = Now(helper.transcript, helper.project)
    prompt = SYSTEM
    for part in range(12):
        path = str(helper.project / f"part{part}.py")
        transcript.called(f"toolu_{part:02}", "Read", {"file_path": path}, numbered(lines(300, f"of_{part}")), prompt)
        prompt += 4_200
        if part < 3:
            change = {"file_path": path, "old_string": "a", "new_string": "b"}
            transcript.called(f"toolu_e{part}", "Edit", change, "The file has been updated.", prompt)
            prompt += 60
    transcript.answered(prompt)
    helper.prompt = prompt
    return helper


def test_all_places_give_the_same_size_after_a_compaction_and_an_undo(worked: Helper):
    """The sentences chain."""
    client = Watched(worked)
    assert places(worked) == [worked.prompt] * 4
    first = client.compacts()["notice"]
    [entry] = [entry for entry in worked.journal() if entry["event"] == "compact"]
    small = entry["after"] + entry["beside"]
    assert SYSTEM + 4_200 * 3 < small < SYSTEM + 4_200 * 5, "the newest three results stay, one more file that was read, and the system"
    assert first.startswith(f"Compacted without a model: 65k to {units.tokens(small)} tokens.")
    assert places(worked) == pytest.approx([small] * 4, rel=0.01)
    worked.ask("/command", {"words": "undo"})
    assert re.search(rf", {units.tokens(small)} to ~6[45]k tokens", client.compacts(own=True)["notice"])
    assert places(worked) == pytest.approx([worked.prompt] * 4, rel=0.01)
    assert worked.failures() == ""


def goes_on(helper: Helper, prompt: int) -> None:
    """A prompt and its answer, the first since a compaction."""
    entries = [json.loads(line) for line in helper.transcript.read_text().splitlines()]
    transcript = Now.__new__(Now)
    transcript.path, transcript.project, transcript.last, transcript.count = helper.transcript, helper.project, entries[-1]["uuid"], 900
    Now.begins = time.time() - 899
    transcript.asked("and on")
    transcript.answered(prompt)
    helper.prompt = prompt


def test_once_a_request_shows_the_size_it_is_no_estimate(worked: Helper):
    Watched(worked).compacts()
    assert context(worked)["measured"] is False
    assert "Context   ~" in worked.run("context", "retention", "--session", worked.session)
    goes_on(worked, 29_123)
    assert places(worked) == [29_123] * 4
    assert context(worked)["measured"] is True


def test_without_a_journal_the_size_is_that_of_what_the_transcript_has(worked: Helper):
    Watched(worked).compacts()
    noted = context(worked)["tokens"]
    (worked.home / "sessions" / SESSION / "main.journal.jsonl").unlink()
    assert context(worked)["tokens"] == pytest.approx(noted, rel=0.1)


def series(helper: Helper) -> list[Any]:
    """The points of the page's chart."""
    cached = CachedContext("", Site(helper.env, SESSION, str(helper.project)), str(helper.transcript), time.time())
    return cached.sampler.series(cached.outlook.rebuilt.conversation, cached.report).points


def drawn(point: Any) -> int:
    """The tokens of results in a point."""
    return sum(point.tiers.values()) + point.expired


def test_the_chart_shows_no_more_than_was_sent_and_falls_at_a_compaction(worked: Helper):
    before = series(worked)
    assert all(drawn(point) + SYSTEM <= point.tokens + 100 for point in before)
    Watched(worked).compacts()
    after = series(worked)
    assert [point.tokens for point in after[:-1]] == [point.tokens for point in before[:-1]], "the present comes last"
    assert after[-1].tokens < before[-1].tokens / 2
    assert drawn(after[-1]) < drawn(before[-1]) / 2
    goes_on(worked, 32_123)
    last = series(worked)[-1]
    assert last.tokens == 32_123
    assert drawn(last) <= 32_123 - SYSTEM + 100
    assert drawn(last) == pytest.approx(drawn(after[-1]), rel=0.1)


# --- counts ------------------------------------------------------------------------------------------------------------------------


def told(helper: Helper, *words: str) -> Any:
    return json.loads(helper.run("context", *words, "--json", "--session", helper.session))


def test_receipt_panel_why_and_journal_have_the_same_tokens_and_results_to_the_last(worked: Helper):
    Watched(worked).compacts()
    worked.ask("/view")  # the receipt is written after the answer
    [receipt] = told(worked, "why")["receipts"]
    assert receipt["before"] - receipt["after"] == receipt["tokens"] + receipt["thinking"]
    assert sum(call["tokens"] for call in receipt["calls"]) == receipt["tokens"]
    assert [entry["tokens"] for entry in worked.journal() if entry["event"] == "clear"] == [receipt["tokens"]]
    report = told(worked, "retention")
    assert report["context"]["tokens"] == receipt["after"]
    many = len(receipt["calls"])
    assert report["compacted"] == many
    words = " ".join(worked.run("context", "retention", "--session", worked.session).split())
    assert f"{many} results are no longer in the context, whole or in part; 1 compaction so far." in words
    assert f"{many} results left the context" in " ".join(worked.run("context", "why", "--session", worked.session).split())


def test_what_was_put_back_is_counted_no_more(worked: Helper):
    client = Watched(worked)
    client.compacts()
    worked.ask("/command", {"words": "undo"})
    client.compacts(own=True)
    report = told(worked, "retention")
    assert (report["compacted"], report["compactions"]) == (0, 1), "neither is an undo a compaction"


def test_an_archived_result_has_the_size_that_it_had_in_the_context(worked: Helper):
    shown = {row["id"]: row["tokens"] for row in told(worked, "retention")["results"]}
    Watched(worked).compacts()
    worked.ask("/view")
    records = json.loads(worked.run("restore", "list", "--json"))["records"]
    archived = {record["tool_use_id"]: record["tokens"] for record in records if record["type"] == "read"}
    assert archived
    assert archived == {id: shown[id] for id in archived}


def test_turns_are_counted_once_by_the_person_s_messages(worked: Helper):
    """Whatever a compaction writes again."""
    assert told(worked, "retention")["turns"] == 1
    Watched(worked).compacts()
    assert told(worked, "retention")["turns"] == 1
