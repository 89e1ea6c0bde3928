"""Conversations of all kinds, what is known of each, and what a clear would take of it: `goldens/plans.txt`.

Each is drawn by its number: reads, runs, edits, requests of a model that counts as we estimate or otherwise, thinking, compactions, clears,
what comes back. Below it where its results stand, and a plan for each way to ask for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from popkit_retention.core.policy import events, planning
from popkit_retention.core.policy.context import Result
from popkit_retention.core.policy.least_needed import Goal, LengthRule
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.policy.usage import Usage
from tests.policy.conversing import LARGE, LONG, TUNED, Conversing
from tests.policy.priced import prices

GOLDEN = Path(__file__).with_name("goldens") / "plans.txt"
TEXTS = ("", "short", LONG, LARGE, LARGE, LARGE)
SELECTIONS = (
    Selection(), Selection(now=True), Selection(tier="short"), Selection(tier="preserved"), Selection(ids=("T1", "T3", "T5")),
    Selection(pattern="*.py"),
    Selection(pattern="1.py", now=True),
)  # fmt: skip
LATE = LengthRule(12_000, 0.3, 5_000)
LIKELY = NeedModel({"bias": -3.0})


class Drawn:
    """A conversation that is drawn by a number, and what was done in it, in words."""

    def __init__(self, number: int) -> None:
        self.draw = Random(number)
        self.session = Conversing(
            {"models": {"by_id": {"m": {"tokens": 1.0}, "n": {"tokens": 1.4, "kept": 900}}}},
            profile=("auto", "spec", "auto", "auto", "aggressive", "auto")[number % 6],
        )
        self.session.silent = True
        self.done: list[str] = []
        self.gone: list[Result] = []
        self.factors = ((1.0, 1.0, 1.3, 1.3, 0.7, 3.0), (1.3,), (0.5,), (1.9,))[max(0, number % 7 - 3)]
        for _ in range(8 * (len(self.factors) == 1)):
            self.done += [self._call(), self._call(), self._request()]
        for _ in range(20 + self.below(30)):
            self._go_on()

    def below(self, most: int) -> int:
        return int(self.draw.random() * most)

    def _go_on(self) -> None:
        steps = (
            self._call, self._call, self._call, self._call, self._request, self._request, self._request, self._think, self._write,
            self._leave, self._compact,
            self._return, self._wait, self._enter,
        )  # fmt: skip
        step = steps[self.below(len(steps))]
        told = step()
        self.done.append(told or step.__name__[1:])

    def _call(self) -> str:
        session, text, which = self.session, TEXTS[self.below(len(TEXTS))], self.below(3)
        text = f"{session.steps} {text}"
        made = (
            ("read", lambda: session.read(f"{which}.py", text=text)),
            ("test", lambda: session.bash("npm test", text)),
            ("test and lint", lambda: session.bash("npm run lint; npm test", text)),
            ("fail", lambda: session.bash_fails(f"mkdir {which}", text)),
            ("ask", lambda: session.call("AskUserQuestion", {}, text)),
            ("grep", lambda: session.grep(f"x{which}", text=text)),
            ("other", lambda: session.call("mcp__a__b", {"n": which}, text)),
            ("edit", lambda: session.edit(f"{which}.py")),
            ("write", lambda: session.call("Write", {"file_path": f"/p/{which}.py", "content": text}, "File created")),
        )  # fmt: skip
        name, make = made[self.below(len(made))]
        make()
        return f"{name} {which}, {len(text)} characters"

    def _request(self) -> str:
        conversation, at = self.session.conversation, self.session.at
        last = conversation.last.tokens or 20_000
        factor = self.factors[self.below(len(self.factors))]
        usage = Usage(
            last + round(conversation.unsent * factor),
            at,
            ("m", "m", "n", "n", "o")[min(4, self.session.steps // 16 + self.below(2))],
            (300, 0)[self.below(2)],
        )
        conversation.sent(usage)
        if self.below(4) == 0:
            conversation.went_on(at + 30)
        return f"request of {usage.tokens} tokens, {factor} times, {usage.model}, {usage.cache_ttl_s} s, {usage.files} of files"

    def _think(self) -> str:
        tokens = 300 * (1 + self.below(4))
        self.session.conversation.add_text(20, tokens, 7)
        return f"{tokens} thought"

    def _write(self) -> str:
        tokens = 50 + 400 * self.below(3)
        self.session.conversation.add_text(tokens, inputs=tokens // 2)
        if self.below(3) == 0:
            self.session.conversation.stubbed(tokens // 3)
        return f"{tokens} written"

    def _some(self) -> list[str]:
        return [f"T{1 + self.below(max(1, self.session.steps))}" for _ in range(1 + self.below(2))]

    def _leave(self) -> str:
        ids, which, conversation = self._some(), self.below(5), self.session.conversation
        if which == 0:
            conversation.left(ids)
        elif which == 1:
            conversation.left(ids, self.session.at - 5)
        elif which == 2:
            conversation.drop_thinking(ids[0])
        elif which == 3:
            self.session.observe(events.ManualClear(ids, self.session.at))
        else:
            conversation.drop_thinking()
        return f"leave {which} {ids}"

    def _return(self) -> str:
        ids, which = self._some(), self.below(6)
        if which == 3:
            self.session.observe(events.Undone(ids, self.session.at))
        elif which == 4:
            gone = [result for result in self.gone if result.id not in self.session.state.live][:2]
            self.session.observe(events.CameBack(gone, self.session.at))
        elif which == 5:
            self.session.observe(events.FilesChanged({f"/p/{self.below(3)}.py": "modified"}, self.session.at))
        elif which == 0:
            self.session.conversation.returned(ids)
        elif which == 1:
            self.session.observe(events.Restored(ids[0], True, self.session.at))
        else:
            self.session.observe(events.Cleared({ids[0]: "abcd2345"}))
        return f"return {which} {ids}"

    def _compact(self) -> str:
        which, conversation = self.below(3), self.session.conversation
        if which == 2:
            return "nothing"
        self.gone += conversation.results()
        self.session.observe(events.Compacted(self.session.at, self._some(), self.below(2) * (90_000 + self.below(3) * 1_000)))
        ours = self.below(4)
        if ours == 0:
            conversation.was_ours(0.5)
        elif ours == 1:
            conversation.was_due()
        carries = self.below(5)
        if carries == 1:
            conversation.carry(4_000)
        elif carries == 2:
            conversation.carry(4_000, is_all=False)
        elif carries == 3:
            conversation.carry(-1)
        if self.below(2):
            conversation.put_back_files()
        if self.below(2):
            conversation.carry_again(3_000, 200, is_row=self.below(2) == 0)
        return (
            f"compaction, {'ours' if ours == 0 else 'due' if ours == 1 else 'of the host'}, carries {carries}, {conversation.prompt} tokens"
        )

    def _wait(self) -> str:
        seconds = (5, 200, 400)[self.below(3)]
        self.session.wait(seconds)
        return f"{seconds} s"

    def _enter(self) -> str:
        id, tokens = self._some()[0], 100 * self.below(4)
        leans = tuple(self._some()) if self.below(2) else ()
        self.session.observe(events.Entered(id, tokens, leans, "abcd2345", self.below(2) * 300, ("said",), self.session.at, 0))
        return f"{id} entered with {tokens}, leans on {leans}"

    def told(self) -> Iterator[str]:
        session, of = self.session, self.session.conversation
        yield f"# {of.rules.profile}: {'; '.join(self.done)}"
        facts = {name: getattr(of, name) for name in (
            "base", "carried", "compacted_tokens", "count", "inputs", "is_measured", "largest", "prompt", "scaled", "stands", "thinking",
            "threshold", "unsent",
        )}  # fmt: skip
        facts.update(looked_up=of.look_ups.count, taken=of.look_ups.taken)
        yield f"  {facts} {sorted(of.unseen)} {sorted(of.entered)} counted as {[of.as_counted(1_000, at) for at in (0, session.at)]}"
        places = {
            result.id: (place.prefix, place.request, of.requests_behind(result.id), of.thinking_behind(result.id), of.is_seen(result.id))
            for result in of.results() if (place := of.places.get(result.id))
        }  # fmt: skip
        yield f"  places {places} {of.state.calibration}"
        yield f"  requests {[(usage.tokens, grown, usage.by_itself, usage.until) for usage, grown in of.requests]}"
        for at, selection in enumerate(SELECTIONS):
            yield f"  {self._plan(selection, NeedModel({'bias': -30.0}), at % 2 == 0)}"
        for model, cold, in_place, goal in (
            (LIKELY, True, False, None), (NeedModel({"bias": 30.0}), True, False, None), (LIKELY, True, True, None),
            (LIKELY, False, True, Goal(0.2, long=LATE)),
            (LIKELY, True, True, Goal(0.2, long=LATE)), (LIKELY, True, True, Goal(0.8)), (LIKELY, None, False, None),
        ):  # fmt: skip
            yield f"  {self._plan(Selection(), model, cold, in_place, goal)}"

    def _plan(self, selection: Selection, model: NeedModel, cold: bool | None, in_place: bool = False, goal: Goal | None = None) -> str:
        conversation, priced = self.session.conversation, prices(bound=in_place)
        made = planning.plan(conversation, selection, self.session.at, model, priced, cold, TUNED, in_place, goal)
        asked = " ".join(name for name in ("tier", "ids", "pattern", "now") if getattr(selection, name)) or "unasked"
        how = asked + ("" if cold is None else ", cold" if cold else ", warm") + ", in place" * in_place + ", on" * (goal is not None)
        decisions = [f"{one.result.id} {one.action} {one.reason}" for one in made.decisions]
        leaves = (made.pays, round(made.sum.leaves, 2), made.likely_requests, made.further, made.least, made.tokens, made.share)
        sums = [
            getattr(made.sum, name)
            for name in ("cost_now", "pays_after", "rewritten", "saved_now", "saved_per_request", "share", "thinking")
        ]
        return f"{how}: {leaves}, {sums}, {'; '.join(decisions)}"


def test_each_conversation_is_known_and_planned_as_the_golden_shows(golden) -> None:
    golden(GOLDEN, "".join(f"{row}\n" for number in range(36) for row in Drawn(number).told()))
