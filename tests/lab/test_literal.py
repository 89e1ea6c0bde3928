"""What the lab measures is what runs, literally: a clear makes the plan that the lab made at the same moment of the same session."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from popkit_retention.core.policy import economics, planning
from popkit_retention.core.policy.plans import CLEAR, Plan, Selection
from popkit_retention.core.state import reconciling, shipped
from popkit_retention.core.state.site import Site
from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.engine_policies import AutoPolicy
from tests.lab.tales import Tale, begun
from tests.lab.test_online import long_tale
from tests.lab.transcripts import Transcript, filled

LARGE = 3_000_000  # bytes of a real session


class Watching(AutoPolicy):
    """Clears nothing, and keeps the plans that it would have acted upon: request -> (when, Plan)."""

    def __init__(self, prices, wanted: list[int]) -> None:
        super().__init__(prices, shipped.need_model(), shipped.rules())
        self.wanted = wanted
        self.plans: dict = {}

    def decide(self, view) -> list:
        self.view = view
        if view.number in self.wanted:
            self.plans[view.number] = (view.now, self.plan(view.now))
        return []


def measured(transcript: Transcript) -> Transcript:
    """The same conversation, whose answers tell the usage of their requests: what was said grows a little less than it is estimated to."""
    tokens, known = 18_000, {}
    for entry in transcript.entries:
        size = len(json.dumps(entry.get("message", {}).get("content", "")))
        if entry["type"] == "assistant" and entry["message"]["model"] != "<synthetic>":
            usage = {"input_tokens": 3, "cache_read_input_tokens": tokens - 103, "cache_creation_input_tokens": 100}
            entry["message"]["usage"] = known.setdefault(entry["message"]["id"], usage)
        elif entry.get("subtype") == "compact_boundary":
            tokens = 18_000
        tokens += size // 3
    return transcript


def plans(path: Path, folder: Path, numbers: list[int]):
    """(live plan, plan of the lab) right before each of these requests; the live one from the lines that were there then."""
    lines = path.read_bytes().splitlines(keepends=True)
    whole = sent_requests.read(str(path), with_needs=False)
    for number in numbers:
        request = whole.requests[number - 1]
        here = next(at for at, line in enumerate(lines) if _message(line) == request.message_id)
        transcript = folder / "sofar.jsonl"
        transcript.write_bytes(b"".join(lines[:here]))
        site = Site({"POPKIT_HOME": str(folder / f"home-{number}"), "PATH": "/usr/bin:/bin"}, f"session-{number}", str(folder))
        conversation = reconciling.reconcile(site, str(transcript), now=request.sent_at).conversation
        newest = conversation.newest
        prices = economics.prices_of(conversation.rules.models.model(newest.model), newest.cache_ttl_s)
        live_plan = planning.plan(conversation, Selection(), request.sent_at, shipped.need_model(), prices)
        watching = Watching(replay_policies.prices_for(whole, newest.cache_ttl_s, newest.model), [number])
        measure.score(whole, watching, watching.prices)
        now, planned = watching.plans[number]
        assert now == request.sent_at
        yield live_plan, planned


def _message(line: bytes) -> str:
    entry = json.loads(line) if b'"assistant"' in line else {}
    return (entry["message"].get("id") or entry["uuid"]) if entry.get("type") == "assistant" else ""


def contents_of(plan: Plan) -> tuple:
    """Everything that a plan says."""
    rows = [(one.action, one.reason, one.tokens, one.placeholder, one.need, one.value, one.result.to_row()) for one in plan.decisions]
    return rows, plan.pays, plan.likely_requests, plan.sum.to_json() if plan.sum else None


def check(path: Path, folder: Path, numbers: list[int]) -> set[str]:
    """The reasons that the plans gave, once they are found to be the same."""
    reasons: set[str] = set()
    for live_plan, planned in plans(path, folder, numbers):
        assert contents_of(live_plan) == contents_of(planned)
        reasons |= {decision.reason for decision in live_plan.decisions}
    return reasons


@pytest.mark.parametrize("seed", range(4))
def test_in_long_sessions_a_live_plan_is_the_plan_of_the_lab(tmp_path, seed: int, count) -> None:
    path = tmp_path / "session.jsonl"
    measured(long_tale(200 + seed, 140)).write(path)
    last = len(sent_requests.read(str(path)).requests)
    numbers = random.Random(seed).sample(range(2, last + 1), count(4, 60))
    assert check(path, tmp_path, numbers) & {"worth", "waits", "in_use", "small", "worth_keeping"}


def test_where_the_cache_is_cold_both_clear_the_same(tmp_path) -> None:
    transcript = long_tale(7, 60, prompts=0.0)
    transcript.wait(4_000)
    transcript._prompt("and now?")
    transcript._answer("so")
    path = tmp_path / "session.jsonl"
    measured(transcript).write(path)
    ((live_plan, planned),) = plans(path, tmp_path, [len(sent_requests.read(str(path)).requests)])
    assert contents_of(live_plan) == contents_of(planned)
    assert live_plan.pays
    assert len(live_plan.having(CLEAR)) > 3


def test_it_holds_for_recorded_sessions(transcripts, tmp_path, count) -> None:
    chance, seen = random.Random(2), set()
    paths = [path for path in sorted(transcripts.rglob("*.jsonl")) if 100_000 < path.stat().st_size < LARGE]
    for path in chance.sample(paths, min(len(paths), count(6, 60))):
        session = sent_requests.read(str(path), with_needs=False)
        # In a transcript that is not understood a clear changes nothing.
        if len(session.requests) > 4 and all(request.usage for request in session.requests) and not session.bad:
            seen |= check(path, tmp_path, chance.sample(range(2, len(session.requests) + 1), count(2, 4)))
    assert seen >= {"waits", "in_use", "small"}


# --- what made them differ, each by itself -----------------------------------------------------------------------------------------


def last_plan(transcript: Tale, folder: Path) -> tuple:
    """What the live plan and the lab's say right before one more answer: they are the same."""
    transcript._answer("so")
    path = folder / "session.jsonl"
    measured(transcript).write(path)
    ((live_plan, planned),) = plans(path, folder, [len(sent_requests.read(str(path)).requests)])
    assert contents_of(live_plan) == contents_of(planned)
    return contents_of(live_plan)


def looked(after: int = 12) -> Tale:
    """A search, and so many calls after it."""
    transcript = begun()
    transcript._calls([("Grep", "src/a.ts", "found_in_place_1\n" * 400, 1)], False, "")
    for number in range(after):
        transcript.wait(10)
        transcript._calls([("Read", f"src/{number}.ts", f"line {number}\n" * 300, 1)], False, "I look.")
    return transcript


def test_inputs_in_which_wide_characters_stand(tmp_path) -> None:
    transcript = looked()
    transcript._calls([("Bash", "測試" * 900, "so\n" * 800, 1)], False, "測試" * 300)
    last_plan(transcript, tmp_path)


def test_calls_that_were_made_at_the_same_time(tmp_path) -> None:
    transcript = looked()
    for number in range(8):
        message, ids = f"both-{number}", (f"first-{number}", f"second-{number}")
        uses = [transcript.use(id, "Bash", {"command": "cat " + "x" * 2_000}, message) for id in ids]
        transcript.result(ids[1], "so\n" * 400, parent=uses[1])
        transcript.result(ids[0], "and so\n" * 400, parent=uses[0])  # the conversation goes on from the first: the second hangs beside it
    last_plan(transcript, tmp_path)


def test_a_search_whose_time_ran_out_while_nothing_happened(tmp_path) -> None:
    transcript = looked(4)
    transcript.wait(900)
    transcript._prompt("go on")
    last_plan(transcript, tmp_path)


def test_an_answer_that_took_long(tmp_path) -> None:
    transcript = looked()
    transcript.answer("I begin", "long")
    transcript.wait(200)
    transcript.answer("and end", "long")
    transcript.wait(250)  # five minutes after its beginning, not after its end
    transcript._prompt("go on")
    assert last_plan(transcript, tmp_path)[3]["warm"] is True


def test_a_branch_that_was_left(tmp_path) -> None:
    transcript = looked()
    back = transcript.last
    for _ in range(6):
        transcript.wait(60)
        transcript._calls([("Read", "src/left.ts", "left\n" * 900, 1)], False, "Somewhere else.")
    transcript.wait(30)
    transcript.prompt("no, rather so", parent=back)
    assert last_plan(transcript, tmp_path)[3]["warm"] is True, "what was left has read the cache of what stands"


def test_branches_that_were_left_before_and_after_a_compaction(tmp_path) -> None:
    transcript = looked()
    for _ in range(2):
        back = transcript.last
        transcript._calls([("Read", "src/left.ts", "left\n" * 900, 1)], False, "Somewhere else.")
        transcript.prompt("no, rather so", parent=back)
        transcript._answer("so\n" * 200)
        transcript._fold(0)
    back = transcript.last
    for number in range(12):
        transcript.wait(10)
        transcript._calls([("Read", f"src/{number}.ts", f"line {number}\n" * 300, 1)], False, "I look.")
    transcript.prompt("no, rather so", parent=back)
    transcript._calls([("Read", "src/a.ts", "line\n" * 900, 1)], False, "I look.")
    last_plan(transcript, tmp_path)


def test_what_hangs_beside_the_conversation_is_listed_where_it_hangs(tmp_path) -> None:
    transcript = looked()
    here = transcript.last
    transcript.prompt("<local-command-stdout>" + filled(4_000), isMeta=True)
    aside = transcript.add("system", parent=here, subtype="api_error")
    transcript.prompt("go on", parent=aside)
    last_plan(transcript, tmp_path)


def test_a_branch_that_goes_on_after_a_command_beside_it(tmp_path) -> None:
    transcript = looked()
    here = transcript.last
    transcript._prompt("and what of the rest?")
    transcript._answer("it is done\n" * 400)
    left = transcript.last
    transcript.prompt("<local-command-stdout>" + filled(4_000), parent=here)
    transcript.prompt("go on", parent=left)
    transcript._answer("so\n" * 200)
    last_plan(transcript, tmp_path)


def test_a_call_that_leads_into_another_folder(tmp_path) -> None:
    transcript = begun()
    transcript._calls([("Bash", "a.ts", "line\n" * 400, 1)], False, "")
    transcript.entries[-1]["cwd"] = "/shop/deeper"
    transcript._calls([("Read", "a.ts", "line\n" * 400, 1)], False, "")
    transcript._calls([("Edit", "a.ts", "done", 1)], False, "")
    last_plan(transcript, tmp_path)
