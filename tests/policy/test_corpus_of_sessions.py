"""A corpus of sessions, with what becomes of their results: `goldens/sessions.txt`.

A session begins with `# `, its profile and its name. Each of its steps stands behind `$ `, as a method with arguments in JSON; a text is
`N lines` or itself. Below a step: the result that it brought, with its parts, and what it ended, with the reasons; below a plan its
decisions. A step that is added needs no more than its `$ `: `--update-goldens` writes the rest, for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.policy import events, planning
from popkit_retention.core.policy.least_needed import LONG, Goal
from popkit_retention.core.policy.need_model import model_of
from popkit_retention.core.policy.placeholder import placeholder, why
from popkit_retention.core.policy.plans import Selection
from tests.policy.conversing import NEVER, SURE, Conversing
from tests.policy.priced import prices

CORPUS = Path(__file__).with_name("goldens") / "sessions.txt"
_DATA = Path(__file__).resolve().parents[2] / "hooks" / "utils" / "data"
SHIPPED = model_of(json.loads((_DATA / "need-model.json").read_text(encoding="utf-8")))
MODELS = {"sure": SURE, "never": NEVER, "shipped": SHIPPED}


def text_of(words: str, id: str) -> str:
    count, _, unit = words.partition(" ")
    if unit != "lines":
        return words
    return "\n".join(f"line {number} of {id}, as long as lines of programs are" for number in range(1, int(count) + 1))


class Session(Conversing):
    """A session whose steps are given by name."""

    def step(self, name: str, *given, text: str = "10 lines", **named) -> Iterator[str]:
        before, known = len(self.decisions), {*self.state.live, *self.state.expired}
        if name in ("read", "grep", "bash"):
            getattr(self, name)(*given, text=text_of(text, f"T{self.steps + 1}"), **named)
        elif name == "bash_fails":
            self.bash_fails(*given, text_of(text, f"T{self.steps + 1}"), **named)
        elif name == "tool":
            self.call(given[0], given[1], text_of(text, f"T{self.steps + 1}"), **named)
        elif name == "decide":
            yield from self.decided(*given, **named)
        elif name == "event":
            self.observe(getattr(events, given[0])(*given[1:], self.at))
        elif name == "cleared":
            self.observe(events.Cleared(given[0]))
        elif name == "counts":
            yield from self.counted()
        else:
            getattr(self, name)(*given, **named)
        for result in [*self.state.live.values(), *self.state.expired.values()]:
            if result.id not in known:
                parts = " | ".join(" ".join(map(str, [key, *scope])) for key, scope in result.parts)
                also = " ".join(filter(None, ["error" if result.error else "", result.verdict]))
                yield f"  {result.id} {result.kind} {result.tier} ({result.basis}) “{result.label}” {result.tokens} {also}".rstrip()
                yield f"    {parts}"
        for decision in self.decisions[before:]:
            by = f" by {decision.by}" if decision.by else ""
            yield f"  {decision.action} {decision.id} {decision.trigger}{by}: {'; '.join(decision.reasons)}"
            result = self.state.expired.get(decision.id)
            if result is not None:
                yield f"    {placeholder(result.label, why(result, self.quiet_age(decision.id)), 'abcd2345')}"

    def counted(self) -> Iterator[str]:
        for name, count in self.state.counts.to_json().items():
            if count:
                yield f"  {name} {json.dumps(count, sort_keys=True)}"
        talk = self.conversation
        yield f"  prompt {talk.prompt} largest {talk.largest} unsent {talk.unsent} thinking {talk.thinking} stands {talk.stands}"
        yield f"  calibration {self.state.calibration:.3f} turn {self.state.turn} live {' '.join(self.state.live)}"

    def decided(self, model: str, cold: bool, ttl_s: int, goal: float | None = None, bound: bool = False, **asked) -> Iterator[str]:
        """The plan of a clear, or where a goal is given that of a compaction."""
        wanted = None if goal is None else Goal(goal, long=LONG)
        in_place, selection = goal is not None, Selection(**asked)
        plan = planning.plan(
            self.conversation, selection, self.at, MODELS[model], prices(ttl_s, bound=bound), cold, in_place=in_place, goal=wanted
        )
        for decision in plan.decisions:
            made = decision.to_json()
            odds = "" if made["need"] is None else f" need {made['need']} value {made['value']}"
            yield f"  {decision.result.id} {made['action']} {made['reason']} {decision.tokens}-{decision.placeholder}{odds}"
        sums = " ".join(f"{name}={_rounded(getattr(plan.sum, name))}" for name in plan.sum.__slots__ if hasattr(plan.sum, name))
        yield f"  pays {plan.pays} over {plan.likely_requests} further {plan.further} share {plan.share} least {plan.least} {sums}"


def _rounded(value: object) -> object:
    return round(value, 2) if isinstance(value, float) else value


def told(rows: list[str]) -> Iterator[str]:
    session = Session()
    for row in rows:
        if row.startswith("# "):
            session = Session(profile=row.split()[1])
            yield row
        elif row.startswith("$ "):
            name, _, given = row[2:].partition(" ")
            *positional, named = json.loads(f"[{given}]") if given.endswith("}") else [*json.loads(f"[{given}]"), {}]
            yield row
            yield from (line.replace("\n", "↵") for line in session.step(name, *positional, **named))


def test_a_session_goes_as_the_corpus_says(golden) -> None:
    golden(CORPUS, "".join(f"{row}\n" for row in told(CORPUS.read_text(encoding="utf-8").split("\n"))))
