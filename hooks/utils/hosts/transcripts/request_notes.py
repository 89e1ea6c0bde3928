"""Read the notes of newer clients on their requests. Reads only.

Notes are three kinds of lines: a shape (the tools and the system text, once for all requests that have them), a message (its text is of no
matter here), and a request: the hash of its shape, what else it asks for, and the hashes of its messages, as those of an earlier request
and what follows. An answer names its request. The note of a request may come behind the answer to it.
"""

from __future__ import annotations

from ...io.codec import as_object, as_objects, as_text, loads
from ...policy.lost_cache import IN_MESSAGES, IN_MODEL, IN_OTHER, IN_SYSTEM, IN_TOOLS, Interval
from .usage import CLEAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# How the sources of a conversation's own requests begin, a subagent's among them. Others make a title or a summary.
_OF_CONVERSATION = ("repl_main_thread", "sdk", "agent:")
_NO_MATTER = ("model", "max_tokens", "output_config", "thinking", "metadata")
_KEPT = 8  # notes, and as many shapes: one that is older is neither answered nor gone on from
_MOST_NAMES = 3
LONGEST_NAME = 60


def is_of_conversation(request: dict[str, object]) -> bool:
    """Return whether a noted request is one of a conversation itself."""
    return str(request.get("querySource")).startswith(_OF_CONVERSATION)


class _Shape:
    """`tools`: name -> a hash of its description · `system`: [(heading, hash of the text below it)]. Texts would fill the
    helper's memory: each subagent has its own."""

    __slots__ = ("system", "tools")

    def __init__(self, shape: dict[str, object]) -> None:
        tools, system = shape.get("tools"), shape.get("system")
        self.tools = {str(tool.get("name")): hash(str(tool)) for tool in _dicts(tools)}
        self.system = _sections("\n".join(str(block.get("text")) for block in _dicts(system)))


class _Note:
    """`messages`: the hash of each, of which `count` are this request's, for what goes on from it has them in the same list; None where the
    request that it goes on from is not known."""

    __slots__ = ("count", "messages", "params", "shape")

    def __init__(self, entry: dict[str, object], base: _Note | None) -> None:
        shape, params = entry.get("shapeHash"), entry.get("params")
        self.shape = as_text(shape)
        self.params = as_object(params)
        self.messages, self.count = _went_on(entry, base)

    def inside(self, name: str, key: str) -> str:
        """Return a word inside one of the parameters; "" where it is not said."""
        value = self.params.get(name)
        value = value.get(key) if isinstance(value, dict) else ""
        return value[:LONGEST_NAME] if isinstance(value, str) else ""

    def edits(self) -> list[dict[str, object]]:
        """Return what the provider is asked to leave out of the prompt, or to keep in it."""
        management = self.params.get("context_management")
        return _dicts(management.get("edits")) if isinstance(management, dict) else []

    def keeps_thinking(self) -> bool:
        """Return whether the provider is asked to leave the thinking of earlier turns in the prompt."""
        return any(str(edit.get("type")).startswith("clear_thinking") and edit.get("keep") == "all" for edit in self.edits())

    def may_lack_results(self) -> bool:
        """Return whether the provider is asked to leave results out: the prompt may have changed though what was sent has not."""
        return any(edit.get("type") == CLEAR for edit in self.edits())


class Notes:
    """The notes of one conversation, in the order of its lines."""

    def __init__(self) -> None:
        self._shapes: dict[str, _Shape] = {}
        self._notes: dict[str, _Note] = {}  # by id, the newest last
        self._digests: set[str] = set()  # of the requests since the last answer
        self._newest: _Note | None = None  # the newest
        self._answered: _Note | None = None  # what the last answer was to
        self._late: tuple[str, Interval] | None = None  # an answer whose request is not noted yet

    @property
    def are_late(self) -> bool:
        """Return whether the last answer names a request that is not noted yet, in a conversation whose requests are."""
        return self._late is not None and bool(self._notes)

    def take(self, line: bytes, between: Interval) -> None:
        """Take in a line that begins with REQUEST or SHAPE; a request that is sent again has failed, which is noted in `between`."""
        try:
            entry = loads(line.decode("utf-8", "replace"))
            if isinstance(entry, dict):
                self._take(entry, between)
        except (ValueError, RecursionError):
            return

    def _take(self, entry: dict[str, object], between: Interval) -> None:
        key, shape = entry.get("shapeHash"), entry.get("shape")
        if isinstance(shape, dict) and isinstance(key, str):
            _keep(self._shapes, key, _Shape(shape))
        elif isinstance(entry.get("params"), dict):
            self._request(entry, between)

    def _request(self, entry: dict[str, object], between: Interval) -> None:
        id = str(entry.get("id"))
        note = _Note(entry, self._notes.get(str(entry.get("base"))))
        _keep(self._notes, id, note)
        if not is_of_conversation(entry):
            return
        if self._late and self._late[0] == id:
            self._compare(note, self._late[1])
            return
        digest = str(entry.get("requestDigest"))
        between.error |= digest in self._digests
        self._digests.add(digest)
        self._newest = note

    def answered(self, request: object, between: Interval) -> None:
        """Note in `between` what the request that is answered now has otherwise than the one before; `request`: its id, if the answer names
        it."""
        note = self._notes.get(request) if isinstance(request, str) else self._newest
        self._newest = None
        self._digests.clear()
        if note is not None:
            self._compare(note, between)
        elif isinstance(request, str):
            self._late = request, between
        else:
            self._answered = self._late = None

    def _compare(self, new: _Note, between: Interval) -> None:
        old, self._answered, self._late = self._answered, new, None
        between.keeps_thinking = new.keeps_thinking()
        if old is None:
            return
        changes = {IN_MODEL: old.params.get("model") != new.params.get("model"), IN_OTHER: _rest(old) != _rest(new)}
        if old.messages is not None and new.messages is not None:
            common = _in_common(old, new)
            if common < old.count:
                changes[IN_MESSAGES], between.messages = True, f"from message {common + 1} of {old.count} on"
            elif not new.may_lack_results():
                changes[IN_MESSAGES] = False
        for name, key in (("output_config", "effort"), ("thinking", "type")):
            before, after = old.inside(name, key), new.inside(name, key)
            if before and after and before != after:
                between.effort = between.effort or f"{'thinking ' if key == 'type' else ''}{before} to {after}"
        self._compare_shapes(old, new, changes, between)
        between.note({part for part, is_other in changes.items() if is_other}, {part for part, is_other in changes.items() if not is_other})

    def _compare_shapes(self, old: _Note, new: _Note, changes: dict[str, bool], between: Interval) -> None:
        before, after = self._shapes.get(old.shape), self._shapes.get(new.shape)
        if old.shape and old.shape == new.shape:
            changes[IN_TOOLS] = changes[IN_SYSTEM] = False
        elif before and after:
            names = sorted({*before.tools} ^ {*after.tools})
            names = names or [name for name in before.tools if before.tools[name] != after.tools[name]]
            changes[IN_TOOLS], changes[IN_SYSTEM] = list(before.tools.items()) != list(after.tools.items()), before.system != after.system
            between.tools = listed(names) or between.tools
            others = [one for one in after.system if one not in before.system] or [one for one in before.system if one not in after.system]
            between.system = others[0][0] if others else ""


def listed(names: list[str]) -> str:
    """Return the names of tools in few words, a server's once; "" for none."""
    short = list(dict.fromkeys(name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else name for name in names))
    more = f" and {len(short) - _MOST_NAMES} more" if len(short) > _MOST_NAMES else ""
    return ", ".join(name[:LONGEST_NAME] for name in short[:_MOST_NAMES]) + more


def _keep(rows: dict[str, Any], key: str, value: object) -> None:
    rows.pop(key, None)
    rows[key] = value
    if len(rows) > _KEPT:
        del rows[next(iter(rows))]


def _rest(note: _Note) -> dict[str, Any]:
    return {name: value for name, value in note.params.items() if name not in _NO_MATTER}


def _went_on(entry: dict[str, Any], base: _Note | None) -> tuple[list[object] | None, int]:
    keep, tail = entry.get("keep"), entry.get("tail")
    known, count = ([], 0) if "base" not in entry else (base.messages, base.count) if base else (None, 0)
    if known is None or type(keep) is not int or not 0 <= keep <= count or not isinstance(tail, list):
        return None, 0
    if keep < len(known):
        known = known[:keep]
    known += tail
    return known, len(known)


def _in_common(old: _Note, new: _Note) -> int:
    """Return how many messages two requests begin with alike."""
    least = min(old.count, new.count)
    if old.messages is new.messages or old.messages is None or new.messages is None:
        return least
    return next((at for at in range(least) if old.messages[at] != new.messages[at]), least)


def _sections(text: str) -> list[tuple[str, int]]:
    parts = ("\n" + text).split("\n#")
    return [(part.partition("\n")[0].strip("# ")[:LONGEST_NAME] if number else "", hash(part)) for number, part in enumerate(parts)]


def _dicts(values: object) -> list[dict[str, object]]:
    return as_objects(values)
