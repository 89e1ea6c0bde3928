"""A context with its requests: what the tests of plans are written in. After each call a request goes out, unless the session is silent."""

from __future__ import annotations

from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import events, planning, worth
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.plans import CLEAR, HOLD, Plan, Selection
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from tests.policy.priced import prices
from tests.policy.scenario import Scenario

LONG = "one line of many words that fill a context\n" * 40
LARGE = LONG * 8
SURE, NEVER = NeedModel({"bias": 30.0}), NeedModel({"bias": -30.0})
TUNED = worth.Tuning(40, 1.0)
BASE = 20_000


class Conversing(Scenario):
    def __init__(self, config: dict | None = None, profile: str | None = None, cwd: str = "/p"):
        super().__init__(config, profile, cwd)
        self.conversation = Conversation(self.state, lambda chosen: Ruleset.from_config(self.config, TOOLS, chosen or profile))
        self.silent = False  # no request goes out

    def observe(self, event) -> dict[str, str]:
        decisions = self.conversation.observe(event)
        self.decisions += decisions
        return {decision.id: decision.trigger for decision in decisions}

    def call(self, *given, **how):
        ended = super().call(*given, **how)
        if not self.silent:
            self.request()
        return ended

    def request(self, ttl_s: int = 300) -> None:
        """A request that has grown by just what is estimated."""
        last = self.conversation.last.tokens or BASE
        self.conversation.sent(Usage(last + self.conversation.unsent, self.at, "m", ttl_s))

    def think(self, tokens: int) -> None:
        self.conversation.add_text(0, tokens)

    def plan(self, model: NeedModel = NEVER, cold: bool = True, priced: Prices | None = None, **asked) -> Plan:
        return planning.plan(self.conversation, Selection(**asked), self.at, model, priced or prices(), cold, TUNED)

    def going(self, *given, **how) -> list[str]:
        return ids(self.plan(*given, **how).having(CLEAR))

    def held(self, *given, **how) -> list[str]:
        return ids(self.plan(*given, **how).having(HOLD))

    def why(self, *given, **how) -> dict[str, str]:
        """id -> reason of every decision."""
        return {decision.result.id: decision.reason for decision in self.plan(*given, **how).decisions}


def ids(decisions: list) -> list[str]:
    return [decision.result.id for decision in decisions]


HISTORIES = st.lists(
    st.tuples(
        st.sampled_from("read grep test fail ask other edit turn pin unpin clear cleared wait restored think".split()),
        st.integers(0, 2),
        st.sampled_from(["", "short", LONG]),
    ),
    max_size=30,
)


def played(history: list, profile: str = "spec", unseen: int = 0) -> Conversing:
    """A session with this history; no request has shown the model the results of the last `unseen` events."""
    session = Conversing(profile=profile)
    for number, (event, back, text) in enumerate(history):
        session.silent = number >= len(history) - unseen
        _add(session, event, back, f"{session.steps} {text}")
    return session


def _add(session: Conversing, event: str, number: int, text: str) -> None:
    known = f"T{max(1, session.steps - number)}"
    adding = {
        "read": lambda: session.read(f"{number}.py", text=text),
        "grep": lambda: session.grep(f"x{number}", text=text),
        "test": lambda: session.bash("npm test", text),
        "fail": lambda: session.bash_fails(f"mkdir {number}", text),
        "ask": lambda: session.call("AskUserQuestion", {}, text),
        "other": lambda: session.call("mcp__a__b", {"n": number}, text),
        "edit": lambda: session.edit(f"{number}.py"),
        "turn": session.new_turn,
        "pin": lambda: session.pin(known),
        "unpin": lambda: session.unpin(known),
        "clear": lambda: session.clear(known),
        "cleared": lambda: session.observe(events.Cleared({known: "abcd2345"})),
        "wait": lambda: session.wait(200),
        "restored": lambda: session.observe(events.Restored(known, True, session.at)),
        "think": lambda: session.think(400 * (number + 1)),
    }
    adding[event]()
