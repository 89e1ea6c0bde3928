"""The lists that stand for calls that were removed entirely. Pure.

All lists share a room. Neighbours are one list. Where the lists alone would take too much of the room, the oldest become one, too, though
something was said between them: each part of it says where it stood (`list_places.place_of`). Where there is no room to name all calls and
names, the oldest are only counted.

A list that others merge into is archived as the lists that it holds, each with its handle. So the calls of one compaction stay in a content
of their own, and a single one of them can come back without the others.
"""

from __future__ import annotations

from .estimate import CHARS_PER_TOKEN, WIDE_CHARS_PER_TOKEN, wide_chars
from .list_places import marks_of
from .list_text import BETWEEN_LABELS, HEAD, IN_THEM, MIDDLE, TAIL, TIMES, folded, handle_of_fold, handle_of_list, in_list, read
from .messages import USER
from .placeholder import NO_HANDLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .messages import Message
    from .shapes import MessageRow
    from .ways import Pair

    Archived = tuple[str, str, list[MessageRow]]  # label, handle, content
    HandleOf = Callable[[list[MessageRow]], str]

# Different labels that a list has of the calls of one compaction.
LISTED = 12
# Of the room of all lists so much may be what is around the labels; were it more, the oldest become one.
_AROUND_SHARE = 0.5
_CHARS = CHARS_PER_TOKEN["dialogue"]
_AROUND = len(HEAD + "; and 10000 more" + MIDDLE + NO_HANDLE + TAIL)


class Calls:
    """Calls that leave whole at one place: the `messages` that they and their results were in, and their Pairs."""

    __slots__ = ("messages", "pairs")

    def __init__(self, messages: list[Message], pairs: list[Pair]) -> None:
        self.messages = messages
        self.pairs = pairs

    @property
    def count(self) -> int:
        return len(self.pairs)


class EarlierList:
    """A list that an earlier compaction wrote, in its `message`: its `handle`, the handles of the lists that it `holds`, the `labels` of
    its calls with how often it counts them, of how many calls it is (`count`), and its `names`."""

    __slots__ = ("count", "handle", "holds", "labels", "message", "names")

    def __init__(self, message: Message, holds: Collection[str]) -> None:
        self.message = message
        self.handle = handle_of_list(message)
        self.holds = holds
        self.labels, unnamed, self.names = read(message.text)
        self.count = sum(times for _, times in self.labels) + unnamed


class Place:
    """A place where calls are listed: so many of the messages that stay come before it (`at`), and its `parts` in order, each with the
    `at` where it was."""

    __slots__ = ("at", "parts")

    def __init__(self, at: int, parts: list[tuple[int, Calls | EarlierList]]) -> None:
        self.at = at
        self.parts = parts


class WrittenList:
    """A list as it is written: so many of the messages that stay come before it (`at`), its `message`, and what has to be archived for
    it: (label, handle, content) of each."""

    __slots__ = ("archived", "at", "message")

    def __init__(self, at: int, message: Message) -> None:
        self.at = at
        self.message = message
        self.archived: list[Archived] = []


def earlier_lists(messages: Sequence[Message], known: Mapping[str, Collection[str]]) -> dict[int, EarlierList]:
    """Return the lists of earlier compactions by their place. `known`: handles of lists of ours -> those of the lists that these hold. What
    only quotes one is a second message with its handle, or has the handle of a list that another one holds."""
    found: dict[str, int] = {}
    for at, message in enumerate(messages) if known else ():
        handle = handle_of_list(message)
        if handle in known:
            found.setdefault(handle, at)
    held = {inner for handle in found for inner in known[handle]}
    return {at: EarlierList(messages[at], known[handle]) for handle, at in found.items() if handle not in held}


def directly_held_by(content: object) -> list[str]:
    """Return the handles of the lists in a list, from its archived content."""
    return [handle for handle in map(_handle_of_row, content if isinstance(content, list) else ()) if handle]


def held_by(content: object) -> list[str]:
    """Return the handles of all lists that a list holds, at any depth, from its archived content."""
    rows = [row for row in content if _handle_of_row(row)] if isinstance(content, list) else []
    return [handle for row in rows for handle in (_handle_of_row(row), *row.get("holds", ()))]


def _handle_of_row(row: object) -> str:
    if not isinstance(row, dict) or row.get("role") != USER or not isinstance(row.get("text"), str):
        return ""
    return handle_of_fold(row["text"])


def write(
    places: Sequence[Place], stays: Sequence[Message], room: float, named: set[str], names: Mapping[str, Sequence[str]],
    handle_of: HandleOf | None,
) -> list[WrittenList]:  # fmt: skip
    """Return the lists of these places, in order, in at most so many tokens (`room`), or one that names nothing but its handle. `stays`:
    the messages that stay. `named`: files whose whole path stays; of others the newest list has it. `names`: id of a call -> names from it.
    `handle_of(content)`: under which handle something is archived; None for a draft, of which nothing is."""
    gathered = _gathered(places, room)
    left = room * _CHARS - len(gathered) * (_AROUND + _CHARS / 2)
    written = []
    for place in reversed(gathered):
        labels, of_list, weight = _chosen(place, left, named, names)
        left -= weight
        many = sum(part.count for _, part in place.parts)
        written.append(_written(place, stays, labels, of_list, many - len(labels), names, handle_of))
    return written[::-1]


def _gathered(places: Sequence[Place], room: float) -> list[Place]:
    """Return the places, the oldest as one where their lists would take too much of the room to say nothing."""
    most = int(room * _CHARS * _AROUND_SHARE / _AROUND)
    oldest = places[: max(0, len(places) - most + 1)]
    if len(oldest) < 2:
        return list(places)
    return [Place(oldest[0].at, [part for place in oldest for part in place.parts]), *places[len(oldest) :]]


def _chosen(place: Place, room: float, named: set[str], names: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str], float]:
    """Return what a list names in so many characters: the labels of calls and the names from them, the newest first, and what they take."""
    chosen: list[str | Pair] = []  # of calls, the newest first
    of_list: list[str] = []
    seen: dict[str, int] = {}
    left = room

    def fits(text: str, around: int) -> bool:
        nonlocal left
        weight = _weight(text) + around
        if weight > left:
            return False
        left -= weight
        return True

    def label_fits(label: str, times: int = 1) -> bool:
        before = seen.get(label, 0)
        more = _digits(before + times) - _digits(before)
        if not fits("" if before else label, more + (0 if before else len(BETWEEN_LABELS))):
            return False
        seen[label] = before + times
        return True

    newly = set(named)
    for _, part in reversed(place.parts):
        candidates = part.names if isinstance(part, EarlierList) else [name for pair in part.pairs for name in names.get(pair.use.id, ())]
        of_list += [name for name in dict.fromkeys(candidates) if fits(name, 1 if of_list else 1 + len(BETWEEN_LABELS + IN_THEM))]
        if isinstance(part, EarlierList):
            chosen += [label for label, times in reversed(part.labels) if label_fits(label, times) for _ in range(times)]
            continue
        own: set[str] = set()
        for pair in reversed(part.pairs):
            label = in_list(pair.line(newly))
            if (label in own or len(own) < LISTED) and label_fits(label):
                own.add(label)
                chosen.append(pair)
                newly.add(pair.file)
    return [each if isinstance(each, str) else _label(each, named) for each in reversed(chosen)], of_list, room - left


def _label(pair: Pair, named: set[str]) -> str:
    """Return what a list says of a call, which may be the first to name its file."""
    label = in_list(pair.line(named))
    if label.endswith(in_list(pair.masked)):
        named.add(pair.file)
    return label


def _weight(text: str) -> float:
    """Return how many characters of plain language take as many tokens."""
    return len(text) + (0.0 if text.isascii() else wide_chars(text) * (_CHARS / WIDE_CHARS_PER_TOKEN - 1))


def _digits(times: int) -> int:
    """Return the characters that say how often something was called."""
    return len(f" ({times}{TIMES}") if times > 1 else 0


def _written(
    place: Place, stays: Sequence[Message], labels: list[str], of_list: list[str], unnamed: int, names: Mapping[str, Sequence[str]],
    handle_of: HandleOf | None,
) -> WrittenList:  # fmt: skip
    parts = place.parts
    only = parts[0][1] if len(parts) == 1 else None
    if isinstance(only, EarlierList) and (len(labels), len(of_list)) == (sum(times for _, times in only.labels), len(only.names)):
        return WrittenList(place.at, only.message)
    if handle_of is None:
        return WrittenList(place.at, folded(labels, NO_HANDLE, of_list, unnamed))
    archived: list[Archived] = []
    if isinstance(only, Calls):
        archived.append(_archived(only, handle_of))
    else:
        rows: list[MessageRow] = []
        for at, part in parts:
            message, holds = _held(part, names, handle_of, archived)
            row = message.to_json()
            row["holds"] = list(holds)
            if at != place.at:
                row["before"] = marks_of(stays, place.at, at)
            rows.append(row)
        archived.append((f"{len(rows)} lists of calls", handle_of(rows), rows))
    written = WrittenList(place.at, folded(labels, archived[-1][1], of_list, unnamed))
    written.archived = archived
    return written


def _archived(part: Calls, handle_of: HandleOf) -> Archived:
    content = [message.to_json() for message in part.messages]
    return f"{len(part.pairs)} call{'' if len(part.pairs) == 1 else 's'}", handle_of(content), content


def _held(
    part: Calls | EarlierList, names: Mapping[str, Sequence[str]], handle_of: HandleOf,
    archived: list[Archived],
) -> tuple[Message, Collection[str]]:  # fmt: skip
    """Return the list that another one holds in the place of a part, which names all of it, and the handles of what it holds itself."""
    if isinstance(part, EarlierList):
        return part.message, part.holds
    archived.append(_archived(part, handle_of))
    of_list = [name for pair in part.pairs for name in names.get(pair.use.id, ())]
    return folded([pair.line() for pair in part.pairs], archived[-1][1], of_list), ()
