"""Sessions made step by step, and what a policy cleared in them: what the tests of the lab's policies are written in.

Results have the ids T1, T2, …; the folder is `/p`; one request follows another after ten seconds.
"""

from __future__ import annotations

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.events import Call, Compacted, Prompted
from popkit_retention.lab import measure
from popkit_retention.lab.recorded import Block, Request, Session, tokens_of
from tests.policy.priced import prices

BEGAN = 1_000_000.0


class SessionBuilder:
    def __init__(self, base: int = 8_000):
        self.session = Session("made.jsonl")
        self.session.base = base
        self.at = BEGAN
        self.places = 0
        self.calls = 0
        self.prompt()

    def _add(self, tokens: int, **more) -> Block:
        self.places += 1
        block = Block(self.places, tokens, **more)
        self.session.steps.append(("add", block))
        return block

    def prompt(self, tokens: int = 10) -> None:
        """The user says something."""
        self.session.steps.append(("event", Prompted(self.at)))
        self._add(tokens)

    def result(self, tool: str, text: str = "", chars: int = 0, error: bool = False, **tool_input) -> Block:
        """A call and its result: a text, or so many characters of one that no other result has."""
        self.calls += 1
        text = text or f"{self.calls}-".ljust(chars, "x")
        outcome = outcomes.outcome_of_error(text) if error else outcomes.outcome_of_text(TOOLS.of(tool), tool_input, text)
        id = f"T{self.calls}"
        self._add(20).asks = id
        return self._add(tokens_of(len(text)), id=id, text=text, call=Call(id, TOOLS.of(tool), tool_input, outcome, self.at, "/p"))

    def read(self, path: str = "/p/a.py", chars: int = 6_000, **more) -> Block:
        return self.result("Read", chars=chars, file_path=path, **more)

    def edit(self, path: str = "/p/a.py", **more) -> Block:
        return self.result("Edit", chars=60, file_path=path, old_string=f"a{self.calls}", new_string="b", **more)

    def bash(self, command: str = "ls", chars: int = 6_000, **more) -> Block:
        return self.result("Bash", chars=chars, command=command, **more)

    def request(self, *needed: list, after: float = 10.0, output: int = 30) -> Request:
        """A request, `after` so many seconds; its answer writes a string for each list of Blocks, which held it."""
        self.at += after
        request = Request(len(self.session.requests) + 1, f"m{len(self.session.requests) + 1}", self.at)
        request.output = output
        request.needs = [(f"string {request.number}-{at}", holders) for at, holders in enumerate(needed)]
        self.session.requests.append(request)
        self.session.steps.append(("request", request))
        self._add(output)
        return request

    def requests(self, count: int) -> None:
        for _ in range(count):
            self.request()

    def turns(self, count: int) -> None:
        """So many turns of the user, one request each."""
        for _ in range(count):
            self.prompt()
            self.request()

    def compact(self, tokens: int = 0) -> None:
        """A recorded compaction and its summary: by itself at so many tokens, or where the user asked for it."""
        self.session.steps.append(("compact", Compacted(self.at, (), tokens)))
        self._add(100).is_summary = True

    def cut(self, kept: int) -> None:
        self.session.steps.append(("cut", kept, []))

    def under(self, policy, priced: Prices | None = None) -> Played:
        return Played(self.session, policy, priced or prices())


class Played:
    """A session played under a policy: `score`; `at` request number -> ids cleared right before it; `texts` id -> what stands there;
    `entered` id -> what entered in the place of its text."""

    def __init__(self, session: Session, policy, priced: Prices):
        self.at: dict = {}
        self.texts: dict = {}
        self.entered: dict = {}
        self.score = measure.score(session, policy, priced, self._cleared)

    def _cleared(self, request, decisions: list, entered: list) -> None:
        if decisions:
            self.at[request.number] = [block.id for block, _, _ in decisions]
        self.texts.update({block.id: text for block, text, _ in decisions})
        self.entered.update({block.id: text for block, text in entered})

    @property
    def cleared(self) -> list:
        return [id for ids in self.at.values() for id in ids]
