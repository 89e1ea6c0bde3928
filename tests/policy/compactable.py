"""Conversations to be compacted: the messages as a host hands them over, beside the fold of what happened."""

from __future__ import annotations

import base64
import hashlib
import json

from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import compacting, events
from popkit_retention.core.policy.compacting import CompactionResult
from popkit_retention.core.policy.host_compaction import FILES
from popkit_retention.core.policy.list_text import handle_of_fold
from popkit_retention.core.policy.lists import held_by
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use, paired
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import handle_in, placeholder
from popkit_retention.core.policy.stubs import long_fields
from popkit_retention.core.policy.usage import Usage
from tests.policy.conversing import NEVER, Conversing

SHARES = st.sampled_from([1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0])
WORDS = "one line of many words that fill a context\n"
CODE = "export const total = (items) => items.reduce((sum, item) => sum + item.price, 0); // src/shop/cart{}.ts\n"
LONG = CODE * 40
SIZES = {
    "empty": "", "short": "ok", "line": WORDS * 3, "some": WORDS * 12, "long": CODE * 30, "large": CODE * 200, "wide": "語" * 900,
    "lines": "\n" * 500, "control": "\x1b[31mred\x1b[0m\r\n" * 60, "lookalike": placeholder("Read a.ts", "old", "zzzz2345"),
}  # fmt: skip


class Talk(Conversing):
    """A session with the `messages` of its conversation. Calls are made one after another, or within `at_once` in one message."""

    def __init__(self, profile: str = "auto", config: dict | None = None):
        super().__init__(config, profile)
        self.rows: list[Message] = []
        self.wholes: dict[str, str] = {}  # id of a result that entered shorter -> its whole text
        self.lists: dict[str, list[str]] = {}  # handle of a list that a compaction wrote -> those of the lists that it holds
        self._together: list[Message] | None = None

    @property
    def messages(self) -> list[Message]:
        return paired(self.rows)

    def say(self, role: str, text: str) -> None:
        self.rows.append(Message(role, text))
        self.conversation.add_text(len(text) // 3)

    def call(self, tool: str, tool_input: dict, text: str | None = None, failed: bool = False, **how):
        id = how.get("id") or f"T{self.steps + 1}"
        text = f"what {id} returned" if text is None else text
        self.rows.append(Message(ASSISTANT, "", [Use(id, TOOLS.of(tool), tool_input)]))
        answer = Message(USER, "", (), [ShownResult(id, text, failed)])
        (self.rows if self._together is None else self._together).append(answer)
        return super().call(tool, tool_input, text, failed, **how)

    def request(self, ttl_s: int = 300) -> None:
        if self._together is None:
            super().request(ttl_s)

    def at_once(self, *calls) -> None:
        """Calls that are made in one message; the results come in the opposite order."""
        self._together = []
        for call in calls:
            call()
        self.rows += reversed(self._together)
        self._together = None
        if not self.silent:
            self.request()

    def write(self, path: str, content: str, text: str = "File created successfully"):
        return self.call("Write", {"file_path": path, "content": content}, text)

    def change(self, path: str, old: str, new: str, text: str = "The file has been updated"):
        return self.call("Edit", {"file_path": path, "old_string": old, "new_string": new}, text)

    def compact(
        self, share: float, model: NeedModel = NEVER, only: tuple[str, ...] | None = None, lost=(), wholes=(), also=()
    ) -> CompactionResult:
        """`wholes`: id of a result that entered shorter -> its whole text, as far as the archive has it."""
        given = (self.messages, self.conversation, model, share, handle_of, only, lost)
        return compacting.compact(*given, whole_of=lambda called: dict(wholes).get(called, ""), ours=self.lists, also=also)

    def lists_after(self, done: CompactionResult) -> dict[str, list[str]]:
        """Handles of the lists that compactions have written, the last with `done` -> those of the lists that they hold."""
        return {**self.lists, **{left.handle: held_by(left.content) for left in done.left if left.kind == compacting.CALLS}}

    def went_on_with(self, done: CompactionResult) -> None:
        """What a compaction left is the conversation now, as a transcript tells it."""
        self.rows = list(done.messages)
        self.lists = self.lists_after(done)
        standing = {shown.id: handle_in(shown.text) for message in done.messages for shown in message.results}
        self.observe(events.Compacted(self.at, list(standing)))
        cleared = {left.id for left in done.left if left.kind == compacting.RESULT}
        self.observe(events.Cleared({id: handle for id, handle in standing.items() if handle and id in cleared}))
        self.conversation.sent(Usage(20_000 + done.after, self.at, "m"))


def talk_of(*steps, quiet: int = compacting.NEWEST) -> Talk:
    """A conversation in which each step is given the talk to go on with; then so many calls that have to do with nothing else."""
    talk = Talk()
    for step in steps:
        step(talk)
    talk.nothing(quiet)
    return talk


def reads(count: int, text: str = LONG):
    """A step: so many files are read."""

    def step(talk: Talk) -> None:
        for n in range(count):
            talk.read(f"{n}.py", text=f"{n} {text}")

    return step


def last_files(talk: Talk) -> None:
    """A step: as many small files are read as count as read last, so that no other read stays beside the target."""
    for n in range(FILES):
        talk.read(f"last{n}.py", text=str(n))


def handle_of(id: str, content: object) -> str:
    """As the archive does: another for each call and content."""
    encoded = json.dumps([id, content], ensure_ascii=True).encode()
    return base64.b32encode(hashlib.sha256(encoded).digest()).decode().lower()[:8]


def archived(*compactions: CompactionResult) -> dict[str, object]:
    """handle -> content of all that left."""
    return {left.handle: left.content for done in compactions for left in done.left}


def plain(messages) -> list[dict]:
    return [message.to_json() for message in messages]


def kinds(done: CompactionResult) -> list[tuple[str, str]]:
    """What left: what of a call, and which call."""
    return [(left.kind, left.id) for left in done.left]


def words(messages, archive=()) -> list[tuple[str, str]]:
    """(role, text) of all that was said; lines that stand for calls left out."""
    return [(each.role, each.text) for each in messages if each.text and handle_of_fold(each.text) not in archive]


def calls_in(messages) -> dict[str, tuple[dict, str, bool]]:
    """id of a call -> (its input, the text of its result, whether that is an error)."""
    inputs = {use.id: use.input for message in messages for use in message.uses}
    return {shown.id: (inputs[shown.id], shown.text, shown.error) for message in messages for shown in message.results}


def assert_valid(messages: list[Message]) -> None:
    """What every provider asks of a conversation."""
    seen: set[str] = set()
    for at, message in enumerate(messages):
        assert message.role in (USER, ASSISTANT)
        assert message.text.strip() or message.uses or message.results, "nothing in it"
        assert not message.text or message.text.strip(), "blanks alone"
        assert not message.uses or message.role == ASSISTANT
        assert not message.results or message.role == USER
        ids = [use.id for use in message.uses]
        assert len({*ids} | seen) == len(ids) + len(seen), "an id comes twice"
        seen |= {*ids}
        answers = [shown.id for shown in message.results]
        assert answers == ([use.id for use in messages[at - 1].uses] if at else [])
        assert not ids or [shown.id for shown in messages[at + 1].results] == ids
        for use in message.uses:
            assert use.tool != "Edit" or use.input["old_string"] != use.input["new_string"]
            assert all(isinstance(use.input[name], str) and use.input[name] for name in long_fields(use))
    assert plain(paired(messages)) == plain(messages)


EVENTS = (
    "user assistant read read read grep test failing passing error ask task other write edit notebook big_edit turn pin unpin clear wait"
    " restored quiet together together leaning fetched failed_write failed_edit"
).split()
EVENT = st.tuples(st.sampled_from(EVENTS), st.integers(0, 3), st.sampled_from(sorted(SIZES)))
FEW = st.lists(EVENT, max_size=12)
HISTORIES = FEW | st.lists(EVENT, min_size=15, max_size=50) | st.lists(EVENT, min_size=30, max_size=70)


def talked(history: list, profile: str = "auto", unseen: int = 0, talk: Talk | None = None) -> Talk:
    """A conversation with this history; the model has not seen the results of the last `unseen` events."""
    talk = talk or Talk(profile)
    for at, event in enumerate(history):
        talk.silent = at >= len(history) - unseen
        _add(talk, *event)
    talk.silent = False
    return talk


def _add(talk: Talk, event: str, number: int, size: str) -> None:
    text, known = SIZES[size], f"T{max(1, talk.steps - number)}"
    own = f"{talk.steps} {text}"
    path = f"/p/src/{number}.py"
    adding = {
        "user": lambda: talk.say(USER, text),
        "assistant": lambda: talk.say(ASSISTANT, own),
        "read": lambda: talk.read(path, text=text),
        "grep": lambda: talk.grep(f"x{number}", text=text),
        "test": lambda: talk.bash("npm test" if number else "npm test; git status; ls", own),
        "failing": lambda: talk.bash_fails("npm test", "1 failing\n" + text),
        "passing": lambda: talk.bash(f"pytest tests/{number}.py", f"{own}\n{number} passed"),
        "error": lambda: talk.bash_fails(f"mkdir {number}", text),
        "ask": lambda: talk.call("AskUserQuestion", {"questions": [own]}, text),
        "task": lambda: talk.call("Task", {"description": "look", "prompt": own, "subagent_type": "Explore"}, text),
        "other": lambda: talk.call("mcp__a__b", {"n": number}, text),
        "write": lambda: talk.write(path, text),
        "edit": lambda: talk.change(path, own, text, own),
        "big_edit": lambda: talk.change(path, CODE * 20, CODE * 20 + own, CODE * 12 + own),
        "failed_write": lambda: talk.call("Write", {"file_path": path, "content": own * 2}, f"{talk.steps} EACCES", True),
        "failed_edit": lambda: talk.call(
            "Edit", {"file_path": path, "old_string": own * 2, "new_string": own * 2 + "z"}, f"{talk.steps} not found", True
        ),
        "notebook": lambda: talk.call("NotebookEdit", {"notebook_path": "/p/a.ipynb", "cell_id": "c", "new_source": text}, "Updated"),
        "turn": talk.new_turn,
        "pin": lambda: talk.pin(known),
        "unpin": lambda: talk.unpin(known),
        "clear": lambda: talk.clear(known),
        "wait": lambda: talk.wait(200),
        "restored": lambda: talk.observe(events.Restored(known, True, talk.at)),
        "quiet": lambda: talk.nothing(2 + 6 * number),
        "together": lambda: talk.at_once(*[lambda n=n: talk.read(f"/p/src/{n}.py", text=f"{n} {text}") for n in range(2 + number)]),
        "leaning": lambda: _lean(talk, known),
        "fetched": lambda: talk.bash("cat .cleared", placeholder("Read b.ts", "old", f"yyyy234{number + 2}")),
    }
    adding[event]()


def _lean(talk: Talk, known: str) -> None:
    """A result that entered as a reference to an earlier one."""
    if talk.steps:
        refer(talk, known, f"/p/{talk.steps}.md", f"{talk.steps} {CODE * 12}")


def refer(talk: Talk, known: str, path: str, whole: str) -> None:
    """A Read whose result enters as a reference to an earlier one."""
    talk.call("Read", {"file_path": path}, f"[PopKit: as in {known}]" + WORDS * 4)
    id = f"T{talk.steps}"
    talk.wholes[id] = whole
    talk.observe(events.Entered(id, 60, [known], "wwww2345", 1_000, ["said already"], talk.at, 300))
