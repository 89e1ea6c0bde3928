"""Extracts what a session teaches, from its transcript, without a model. Reads only.

It takes only which files the session opened, which commands ended well, which names it looked for and where those are defined, and the
user's standing directives: never the contents of files, which change, never a summary of its own, and never a secret.

The main thread (or a subagent's own file) is read line by line. A resumed conversation may be written a second time: each message and each
result counts once.
"""

from __future__ import annotations

from functools import partial

from popkit_retention.core.hosts.recordings import session_id_of
from popkit_retention.core.hosts.tools import recorded_tools
from popkit_retention.core.hosts.transcripts import entries, transcript
from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.entries import is_answer
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.io.codec import as_object, text_in_field
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.tools import EDITS

from ..following import Showings
from ..items import COMMAND, NAME, NOTE, PATH
from ..lessons import Lesson, Observation
from .commands import Commands
from .defined_names import Names
from .files import Files
from .provenance import known
from .records import AssistantText, CallResult, HookText, Observations, Prompt
from .wishes import directives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from popkit_retention.core.hosts.transcripts.entries import Entry
    from popkit_retention.core.io.repository import Repository


def lesson(path: str, repository: Repository, session: str = "") -> Lesson:
    """Return what a transcript's session teaches about a repository; its `root` is the checkout that the session worked in. `session`: its
    id, where that is not the name of the file. Raise OSError when the transcript cannot be read."""
    return lesson_of(observe(path, repository.root, session), repository)


def lesson_of(shown: Observations, repository: Repository) -> Lesson:
    """Return the lesson of a session's observations, without files and names that are no longer in the checkout."""
    root = repository.root
    observed = [*shown.notes, *known(shown.observed, root)]
    observed_names = {(observation.kind, observation.text) for observation in observed}
    written = [(NAME, name) for name in shown.written if (NAME, name) not in observed_names]
    unaided = {observation.text for observation in observed if any(name in shown.unaided for name in _names_in(observation))}
    unaided |= {name for _, name in written if name in shown.unaided}
    return Lesson(
        shown.session, repository.key, shown.began, shown.ended, tuple(observed), tuple(sorted(unaided)), shown.lookups, shown.tokens, root,
        shown.showings, tuple(written), shown.missing,
    )  # fmt: skip


def observe(path: str, root: str, session: str = "") -> Observations:
    """Return what the session of a transcript, which worked in the checkout `root`, shows: by the transcript alone, so on any machine.
    Raise OSError when it cannot be read."""
    names, files, commands, rules = Names(), Files(root), Commands(root), Ruleset.from_config({}, recorded_tools())
    notes: dict[str, float] = {}
    showings = Showings()
    began = ended = 0.0
    lookups = tokens = 0
    for event in conversation(path):
        at = event.call.at if isinstance(event, CallResult) else event.at
        began, ended = min(began or at, at or began), max(ended, at)
        if isinstance(event, Prompt):
            names.mention(event.text)
            if event.by_user:
                notes.update(dict.fromkeys(directives(event.text), at))
        elif isinstance(event, HookText):
            showings.add_hook_text(event.text)
        elif isinstance(event, AssistantText):
            written_path = event.tool_input.get("file_path")
            names.observe_written(
                event, files.inside(written_path, event.cwd) if isinstance(written_path, str) and event.operation in EDITS else ""
            )
            showings.observe_written(event.request, event.text)
        else:
            showings.observe(event.call, event.text)
            classified = classify(event.call, event.cwd or root, rules)
            opened = files.observe(event.call, event.text, event.cwd, classified, commands.maybe_in)
            is_lookup = kinds.of(classified.kind).is_lookup
            names.observe(event.text, opened[0] if is_lookup and len(opened) == 1 else "", partial(files.inside, cwd=event.cwd))
            commands.observe(event.call, event.text, event.cwd)
            lookups += is_lookup
            tokens += estimate_tokens(event.text) if is_lookup else 0
    missing = tuple(sorted([(PATH, path) for path in files.missing] + [(COMMAND, text) for text in commands.missing]))
    return Observations(
        session or session_id_of(path), began, ended, tuple(Observation(NOTE, text, 1, at) for text, at in notes.items()),
        tuple(commands.observed() + files.observed() + names.observed()), tuple(names.written()), frozenset(names.unaided), lookups, tokens,
        showings.all(), missing,
    )  # fmt: skip


def _names_in(observed: Observation) -> list[str]:
    """Return the names by which an item is recognised in written text: the words of a command, else the last part of a path."""
    words = observed.text.split() if observed.kind == COMMAND else [observed.text]
    return [word.rpartition("/")[2] for word in words]


# Inputs that choose among what a tool offers: the words there are the tool's.
_CHOICES = frozenset(("output_mode", "subagent_type", "type", "model", "action", "status", "mode", "activeForm"))


def conversation(path: str) -> Iterator[Prompt | HookText | AssistantText | CallResult]:
    """Yield the events of a session, in order; skip lines that cannot be parsed. Raise OSError when its transcript cannot be read."""
    side = None  # a subagent's own file holds nothing but a side chain
    reading = _Reading()
    for entry in entries.read(path, entries.size_of(path)):
        if isinstance(entry.get("uuid"), str):
            side = entries.is_side(entry) if side is None else side
            if entries.is_side(entry) == side:
                try:
                    yield from reading.events_of(entry)
                except RecursionError:  # nobody nests an input a thousand deep
                    continue


class _Reading:
    def __init__(self) -> None:
        self.reader = transcript.Reader(transcript.Index((0, 0)))
        self.tools = recorded_tools()
        self.pending: dict[str, tuple[str, dict, str]] = {}
        self.answered: set[str] = set()
        self.messages: set[str] = set()
        self.current = ""
        self.again = False  # whether earlier messages are being written a second time

    def events_of(self, entry: Entry) -> Iterator[Prompt | HookText | AssistantText | CallResult]:
        at, kind = seconds_of(entry.get("timestamp")), entry.get("type")
        if kind == "user":
            yield from self._user(entry, at)
        elif kind == "assistant" and is_answer(entry):
            yield from self._assistant(entry, at)
        elif kind == "attachment" and (text := _hook_text(entry.get("attachment"))):
            yield HookText(at, text)

    def _user(self, entry: Entry, at: float) -> Iterator[Prompt | CallResult]:
        by_user = entries.is_prompt(entry)
        content = entries.message_of(entry).get("content")
        if isinstance(content, str):
            yield Prompt(at, content, by_user)
        for block in entries.blocks_of(entry):
            id = block.get("tool_use_id")
            if block.get("type") != "tool_result":
                if isinstance(block.get("text"), str):
                    yield Prompt(at, block["text"], by_user)
            elif id in self.pending and id not in self.answered:
                self.answered.add(id)
                text, _ = text_of_blocks(block.get("content"))
                tool, tool_input, cwd = self.pending.pop(id)
                yield CallResult(self.reader.call_of(entry, block, (tool, tool_input)), text, cwd)

    def _assistant(self, entry: Entry, at: float) -> Iterator[AssistantText]:
        name = entry["message"].get("id") or entry["uuid"]
        if name not in self.messages:
            self.messages.add(name)
            self.current, self.again = name, False
        elif self.again or name != self.current:
            self.again = True
            return
        cwd = text_in_field(entry, "cwd")
        for block in entries.blocks_of(entry):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield AssistantText(at, cwd, "", {}, block["text"], len(self.messages))
            elif block.get("type") == "tool_use":
                tool_input = as_object(block.get("input"))
                tool = str(block.get("name") or "")
                if isinstance(block.get("id"), str):
                    self.pending[block["id"]] = (tool, tool_input, cwd)
                written = "\n".join(_texts(_changed_input(tool_input)))
                yield AssistantText(at, cwd, self.tools.of(tool).operation, tool_input, written, len(self.messages))


def _hook_text(attachment: object) -> str:
    """Return the text that a hook added to the conversation; "" for any other attachment."""
    if not isinstance(attachment, dict) or not str(attachment.get("type")).startswith("hook_"):
        return ""
    content = attachment.get("content")
    return "\n".join(text for text in (content if isinstance(content, list) else [content]) if isinstance(text, str))


def _changed_input(tool_input: dict) -> dict:
    """Return the input of an edit, without the lines that it leaves unchanged."""
    old, new = tool_input.get("old_string"), tool_input.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return tool_input
    lines = set(new.split("\n"))
    return {**tool_input, "old_string": "\n".join([line for line in old.split("\n") if line not in lines])}


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [each for name, each in value.items() if name not in _CHOICES]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []
