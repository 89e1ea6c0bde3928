"""Merges the lesson of a session into the store: new items are added, known ones strengthened.

A session may teach twice: before a compaction, and at its end. The store keeps each session's contribution beside the items, so that it
counts once, however often it is learnt; both are written together.

An item that was of use is reinforced, at most once in a session. It was of use where somebody opened or restored it, and where a session
followed it: memory showed it, and the assistant wrote its name soon after. The name of a path is its file's, that of a command the whole
command; the names of any other text are its words that look like code. A text without such a name cannot be seen to be followed: only
opening or restoring it shows that it was of use.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.utils.state.memory_reading import commands_in, paths_in
from hooks.utils.state.memory_text import HEAD

from . import holds, transitions, valuation
from .items import (
    ACCEPTED,
    ACCESSES_KEPT,
    BY_JOB,
    BY_POLICY,
    CODE,
    COMMAND,
    KINDS,
    NAME,
    NOTE,
    PATH,
    PROSE,
    SESSION,
    USER,
    Item,
    Shown,
    id_of,
)
from .stores import Batch, Change, DuplicateId, audited, listed, mapping
from .transitions import ACTIVE_HOURS, HOUR_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .extraction import CallResult
    from .items import Lesson, Observed
    from .stores import Store

# The confidence in an item that only the assistant has written.
CONFIDENCE = {SESSION: 0.8, USER: 1.0}
# In an item's details: a session found that it no longer exists.
GONE = "gone"


@dataclass(frozen=True)
class Learnt:
    """The result of learning a lesson: how many items are new, how many earlier ones the session used again, how many of these it can only
    have known from memory; and the number of the session."""

    added: int
    strengthened: int
    used: int
    number: int


def learn(store: Store, lesson: Lesson, now: float, tries: int = 4) -> Learnt:
    """Merge a lesson into a store, without what the user has forgotten. Try again where another machine has just added an item of the
    lesson."""
    try:
        return _learn(store, lesson, now)
    except DuplicateId:
        if tries == 1:
            raise
        return learn(store, lesson, now, tries - 1)


def _learn(store: Store, lesson: Lesson, now: float) -> Learnt:
    key = _key(lesson.project, lesson.session)
    before = mapping(store.value(key))
    numbers = mapping(store.value("sessions:" + lesson.project))
    number = _whole(before.get("number")) or _whole(numbers.get("count")) + 1
    counted = {id: _whole(writes) for id, writes in mapping(before.get("writes")).items()}
    unwanted = holds.forgotten_ids(store, lesson.project)
    seen = {id: one for id, one in ((id_of(lesson.project, one.kind, one.text), one) for one in lesson.observed) if id not in unwanted}
    written = {id_of(lesson.project, kind, text) for kind, text in lesson.written} - {*seen, *unwanted}
    missing = {id_of(lesson.project, kind, text) for kind, text in lesson.missing} - {*seen}
    known = {item.id: item for item in store.get(sorted({*seen, *counted, *written, *missing}))}

    new = [_new(id, one, lesson, number) for id, one in seen.items() if id not in known]
    again = [id for id in seen if id in known and id not in counted]
    at = min(lesson.ended, now)
    opened = opened_in(store, lesson.project, lesson.session)
    reinforced = {*opened, *listed(before.get("followed"))}
    followed = _followed(store, lesson, {*seen, *counted, *reinforced}, at)
    changes = [_seen_again(known[id], one, counted.get(id), number, at, id in reinforced) for id, one in seen.items() if id in known]
    changes += followed
    changes += [Change(id, by={"writes": -counted[id], "sessions": -1}) for id in counted if id not in seen and id in known]
    changes += [
        Change(id, to={"details": {**known[id].details, GONE: True}}) for id in sorted(missing) if id in known and id not in counted
    ]
    unaided = {id_of(lesson.project, kind, text) for text in lesson.unaided for kind in KINDS}
    used = [id for id in (*seen, *sorted(written)) if id in known and id in unaided]
    again += [id for id in sorted(written) if id in known and id not in listed(before.get("written"))]
    value = {
        "number": number, "began": lesson.began, "ended": lesson.ended, "writes": {id: one.writes for id, one in seen.items()},
        "used": used, "written": sorted(id for id in written if id in known), "lookups": lesson.lookups,
        "lookup_tokens": lesson.lookup_tokens, "followed": sorted({*reinforced, *(change.id for change in followed)}),
        **({"root": lesson.root} if lesson.root else {}),
    }  # fmt: skip
    batch = Batch(
        add=_placed(new, store, now),
        change=changes,
        access=[(accessed, at, number)] if (accessed := [*again, *(change.id for change in followed)]) else [],
        values={
            key: value,
            "sessions:" + lesson.project: {"count": max(number, _whole(numbers.get("count")))},
            **({key_of(lesson.project, lesson.session): None} if opened else {}),
        },
        log=[audited(now, "learnt", lesson.project, session=lesson.session, added=len(new), again=len(again))],
    )
    holds.touch_marks(batch)
    store.write(batch)
    return Learnt(len(new), len(again), len(used), number)


def session_number(store: Store, project: str) -> int:
    """Return how many sessions of a project have taught something."""
    return _whole(mapping(store.value("sessions:" + project)).get("count"))


def lessons_of(store: Store, project: str) -> dict[str, Mapping[str, object]]:
    """Return each session's contribution, by its id: `number`, `began`, `ended`, `writes` (id -> times), `followed` and `used` (ids),
    `lookups`, `lookup_tokens`."""
    prefix = _key(project, "")
    return {key[len(prefix) :]: mapping(value) for key, value in store.values(prefix).items()}


def checkouts_of(store: Store, item: Item) -> list[str]:
    """Return the checkouts whose sessions have taught an item, as far as they are known."""
    lessons = lessons_of(store, item.project).values()
    return sorted({str(lesson["root"]) for lesson in lessons if lesson.get("root") and item.id in mapping(lesson.get("writes"))})


class Origins:
    """The sessions that items come from, read once for each project."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._projects: dict[str, dict[str, tuple[list[str], float]]] = {}

    def of(self, item: Item) -> tuple[tuple[str, ...], float | None]:
        """Return the sessions that an item is from, and when (seconds) it was last written or asked for, None where that is unknown. A
        session that continues after it has taught records no access, so the end of the last one that wrote the item counts."""
        project = self._projects.get(item.project)
        if project is None:
            project = self._projects[item.project] = self._read(item.project)
        sessions, ended = project.get(item.id, ((), 0.0))
        times = (item.created_at, item.last_accessed, ended)
        if not all(isinstance(at, (int, float)) and 0 <= at < math.inf for at in times):
            return (item.episode, *sessions), None
        if not item.episode or item.episode in sessions:
            return tuple(sessions), max(times)
        return (item.episode, *sessions), max(times)

    def _read(self, project: str) -> dict[str, tuple[list[str], float]]:
        sessions_of: dict[str, tuple[list[str], float]] = {}
        for session, lesson in lessons_of(self._store, project).items():
            writes, ended = lesson.get("writes"), lesson.get("ended")
            at = float(ended) if isinstance(ended, (int, float)) else 0.0
            for id in writes if isinstance(writes, dict) else ():
                sessions, latest = sessions_of.get(id, ([], 0.0))
                sessions.append(session)
                sessions_of[id] = sessions, max(latest, at)
        return sessions_of


def _key(project: str, session: str) -> str:
    return f"lesson:{project}:{session}"


def _new(id: str, one: Observed, lesson: Lesson, number: int) -> Item:
    notes = one.kind == NOTE  # the user's own words; all else the assistant has written
    source = USER if notes else SESSION
    at = min(one.at or lesson.ended, lesson.ended)
    return Item(
        id, one.text, lesson.project, one.kind, PROSE if notes else CODE, source, CONFIDENCE[source], episode=lesson.session, created_at=at,
        last_accessed=at, writes=one.writes, session=number, details=dict(one.details),
    )  # fmt: skip


def _placed(new: list[Item], store: Store, now: float) -> list[Item]:
    """Return new items in the tiers where they begin; the newest of a lesson are among the newest of the project."""
    newest = {item.id for item in sorted(new, key=lambda item: (-item.created_at, item.id))[: transitions.NEWEST]}
    for item in new:
        item.score = item.tier_score = valuation.score(item, now)
        item.tier, item.tier_since = transitions.entry(item.score, item.id in newest).tier, item.created_at
    return new


def _followed(store: Store, lesson: Lesson, counted: set[str], at: float) -> list[Change]:
    """Return the changes of items that a session followed, except those that are counted already and those that it made itself."""
    if not lesson.shown:
        return []
    items = {item.id: item for item in store.scan(lesson.project, marked=False, bare=True) if item.id not in counted}
    ids = followed_ids(lesson.shown, (item for item in items.values() if item.episode != lesson.session))
    return [reinforcement(items[id], at) for id in ids]


def _seen_again(item: Item, one: Observed, counted: int | None, number: int, at: float, reinforced: bool) -> Change:
    """Return the change of an item that a session has written. `counted`: how often it wrote it according to what it taught before, None
    where it taught nothing of it; `reinforced`: whether this session has reinforced it already."""
    change = Change(item.id) if reinforced or counted is not None else reinforcement(item, at)
    change.by["writes"] = one.writes - (counted or 0)
    if counted is None:
        change.by["sessions"] = 1
        change.to["session"] = max(number, item.session)
    details = {name: value for name, value in {**item.details, **one.details}.items() if name != GONE}
    if details != item.details:
        change.to["details"] = details
    if item.waits:  # the user has now said the same, or a session has shown it
        change.to["source"] = ACCEPTED if one.kind == NOTE else SESSION
    if item.marked_by in (BY_JOB, BY_POLICY):  # it has proved useful after all
        change.to.update(marked_at=None, marked_by="")
    return change


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


# --- followed items ----------------------------------------------------------------------------------------------------------------------

REQUESTS = 10  # within which an item is followed after it was shown
APART_S = ACTIVE_HOURS * HOUR_S  # where no session is named, uses this close together count as one session

_CHARS = 20_000  # of one request's text
_TITLE = HEAD.partition("\n")[0]
_COMMAND = re.compile(r"\bpopkit(?:\.py)?['\"]?\s+memory\s+(?:admin\s+)?(?:search|list|why)\b")
_TOOL = "memory_search"
_WORD = re.compile(r"[\w.@~/-][\w./:@~-]*")
_AROUND = ".:-/@~"
_LINES = re.compile(r":\d.*")
# A part of a word that shows it to be code rather than prose.
_CODE = re.compile(r"[/_]|\w\.\w{2}|[a-z][A-Z]|^--\w|[A-Za-z]\d|\d[A-Za-z]")
_LEAST = 4  # characters of a name: shorter ones are written by chance
_BEGINNING = 60  # characters of a text by which it is recognised


class Showings:
    """Everything that memory showed in one session."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # with the number of requests that there were before
        self._wrote: list[str] = []  # by request

    def add_hook_text(self, text: str) -> None:
        """Add a text that a hook added to the conversation."""
        if _TITLE in text:
            self._texts.append((len(self._wrote), text))

    def observe(self, returned: CallResult) -> None:
        """Observe a completed call."""
        command = returned.call.tool_input.get("command")
        if returned.call.tool.endswith(_TOOL) or (isinstance(command, str) and _COMMAND.search(command)):
            self._texts.append((len(self._wrote), returned.text))

    def observe_written(self, request: int, text: str) -> None:
        """Observe a text that the assistant wrote in a request (numbered from 1)."""
        self._wrote += [""] * (request - len(self._wrote))
        self._wrote[request - 1] = "\n".join(filter(None, (self._wrote[request - 1], text)))[:_CHARS]

    def all(self) -> tuple[Shown, ...]:
        """Return everything that was shown, in order, each with what was written in the requests after it."""
        return tuple(Shown(text, "\n".join(self._wrote[at : at + REQUESTS])) for at, text in self._texts)


def followed_ids(shown: Sequence[Shown], items: Iterable[Item]) -> list[str]:
    """Return the ids of those items that were shown and whose names were written in the requests after that."""
    texts = [(_squeezed(each.text), _named_in(each.text), _squeezed(each.wrote), words_of(each.wrote)) for each in shown]
    return [
        item.id
        for item in items
        if any(_is_in(item, text, words) and _is_named(item, wrote, written) for text, words, wrote, written in texts)
    ]


def words_of(text: str) -> set[str]:
    """Return the words of a text, names and paths as they are written, and the last part of each path."""
    words = {_LINES.sub("", word).rstrip(_AROUND) for word in _WORD.findall(text)}
    return words | {word.rpartition("/")[2] for word in words if "/" in word}


def _named_in(text: str) -> set[str]:
    """Return what an answer of memory's names: its words, and the paths and commands that a MEMORY.md writes together."""
    return words_of(text) | set(paths_in(text)) | set(commands_in(text))


def _is_in(item: Item, text: str, words: set[str]) -> bool:
    """Return whether an answer of memory's shows an item."""
    if item.id in words:
        return True
    if item.kind in (PATH, NAME):
        return item.text in words or (item.kind == PATH and item.text.rpartition("/")[2] in words)
    if item.kind == COMMAND and item.text in words:
        return True
    beginning = _squeezed(item.text)[:_BEGINNING]
    return bool(beginning) and beginning in text


def _is_named(item: Item, wrote: str, words: set[str]) -> bool:
    """Return whether the assistant has written the name of an item."""
    if item.id in words:
        return True
    if item.kind == COMMAND:
        return _squeezed(item.text) in wrote
    if item.kind in (PATH, NAME):
        return item.text.rpartition("/")[2] in words
    return any(name in words for name in words_of(item.text) if len(name) >= _LEAST and _CODE.search(name))


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def reinforcement(item: Item, at: float) -> Change:
    """Return the change of an item that was of use at a time (seconds)."""
    return Change(item.id, {"reinforced": sorted([*item.reinforced, at])[-ACCESSES_KEPT:]}, {"reinforcements": 1})


def reinforce(store: Store, items: Sequence[Item], session: str, at: float) -> None:
    """Reinforce items that were of use in a session ("": in no known one), except those that it has made or reinforced already."""
    for item in items:
        known = opened_in(store, item.project, session) if session else set()
        lesson = mapping(store.value(_key(item.project, session))) if session else {}
        counted = {item.episode, *known, *mapping(lesson.get("writes")), *listed(lesson.get("followed"))}
        if session in counted or item.id in counted if session else at - max(item.reinforced, default=-APART_S) < APART_S:
            continue
        values: dict[str, object] = {key_of(item.project, session): sorted({*known, item.id})} if session else {}
        store.write(Batch(change=[reinforcement(item, at)], values=values))


def opened_in(store: Store, project: str, session: str) -> set[str]:
    """Return the ids of the items that were reinforced during a session, before it was learnt."""
    return set(listed(store.value(key_of(project, session))))


def key_of(project: str, session: str) -> str:
    """Return the key of the items that were reinforced during a session that is not learnt yet."""
    return f"opened:{project}:{session}"
