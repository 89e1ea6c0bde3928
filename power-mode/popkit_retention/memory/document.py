"""MEMORY.md: what a new session begins with, under a budget. Pure.

What is worth most for its tokens stands in it. Paths are a map, so that what they share is written once, and a name stands behind the file
that it was written into. Every part is in an order of its own, not by worth: a session that teaches little changes little of the text, and
the prompt cache of the next one keeps the rest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from hooks.utils.policy.masking import MASK, mask
from hooks.utils.policy.ruleset import MEMORY_TOKENS
from hooks.utils.state.memory import CONTENT, MOST_BYTES, MOST_LINES, MOST_TOKENS

from .items import COMMAND, EMBEDDING, ERROR, NAME, PATH
from .rendering import FENCES, HEAD, OTHER, TITLES, Entry, one_line, render, size
from .valuation import wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .items import Item

# How much of the budget notes may take before anything else is considered.
NOTES_SHARE = 0.4
# And how much then, each, the commands that more than one session ran and the errors: they spare no look-up, but a failing run.
COMMANDS_SHARE = ERRORS_SHARE = 0.08
COMMAND_SESSIONS = 2
# An error is listed once its fix was seen in so many sessions.
ERROR_SESSIONS = 2
# A path spares a look-up more often than a name that is as likely to be wanted.
# What the most similar episode adds to what its items are worth.
SIMILARITY = 1.0
PATH_WEIGHT = 2.0
LONGEST_NOTE = 400  # characters
_ROUNDS = 3

FORGOTTEN = "marked as forgotten"
WAITS = "added by an agent, and waits for your yes"
NO_TEXT = "compressed to an embedding"
SECRET = "contains a secret"  # noqa: S105
SAME_FAMILY = "another command of its family is worth more"
ITS_FILE = "the name of a file that is remembered with its folder"
SEEN_ONCE = "seen in one session so far"
NO_ROOM = "worth less for its tokens than what is in it"


@dataclass
class Document:
    """`text`, of so many estimated `tokens`; `items`: ids of those that stand in it, `left_out`: (id, why) of all others."""

    text: str
    tokens: int
    items: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def build(items: Iterable[Item], tokens: int = MEMORY_TOKENS, similar: Mapping[str, float] = {}) -> Document:
    """Return MEMORY.md of a project's items in at most so many tokens, and never more than the host reads; an empty text where nothing
    fits. `similar`: how much items (by id) are about a prompt, 0 to 1, where there is one: see `search.similarities`."""
    draft = _Draft(min(tokens, MOST_TOKENS))
    entries = _entries(sorted(items, key=lambda item: item.id), draft, similar)
    draft.fill(entries)
    text = draft.fitted()
    return Document(text, estimate_tokens(text, CONTENT), sorted(id for entry in draft.kept for id in entry.ids), sorted(draft.left_out))


def _entries(items: list[Item], draft: _Draft, similar: Mapping[str, float]) -> list[Entry]:
    """Return entries for the items that may be listed; leave the others out of the draft, with the reason."""
    newest = max([item.session for item in items], default=0)
    listed = []
    for item in items:
        why = _hindrance(item)
        if why:
            draft.left_out.append((item.id, why))
        else:
            listed.append(item)
    entries = [_entry(item, ids, newest, similar.get(item.id, 0.0)) for item, ids in _without_ends(listed)]
    best: dict[object, Entry] = {}
    families = {item.id: item.details.get("family") for item in listed if item.kind == COMMAND}
    for entry in sorted(entries, key=lambda entry: (not entry.held, -entry.weight, entry.text)):
        family = families.get(entry.ids[0]) or entry.ids[0]
        if entry.held or best.setdefault(family, entry) is entry:
            continue
        draft.leave_out(entry, SAME_FAMILY)
    return [entry for entry in entries if not draft.is_out(entry)]


def _hindrance(item: Item) -> str:
    """Return why an item is not listed, whatever it is worth; "" for one that may be."""
    if item.marked_at is not None:
        return FORGOTTEN
    if item.waits:
        return WAITS
    if item.level == EMBEDDING or not one_line(item.text):
        return NO_TEXT
    if item.kind == ERROR and item.sessions < ERROR_SESSIONS and not item.held:
        return SEEN_ONCE
    if item.kind == NAME and str(item.details.get("file") or "").rpartition("/")[2] == item.text:
        return ITS_FILE
    return ""


def _entry(item: Item, ids: list[str], newest: int, similar: float) -> Entry:
    text, home, kind = one_line(item.text), "", item.kind if item.kind in TITLES else OTHER
    if kind == PATH:
        home, _, text = text.rpartition("/")
    elif kind == NAME:
        home = one_line(str(item.details.get("file") or ""))
    elif kind == ERROR:
        fix = one_line(str(item.details.get("fix") or ""))
        text = f"{text} → {fix}" if fix else text
    if kind in (ERROR, OTHER) and len(text) > LONGEST_NOTE:
        text = text[: LONGEST_NOTE - 1] + "…"
    weight = (wanted(item, newest) + SIMILARITY * similar) * (PATH_WEIGHT if kind == PATH else 1.0)
    return Entry(kind, text, weight, ids, home, item.held, item.sessions)


def _without_ends(items: list[Item]) -> list[tuple[Item, list[str]]]:
    """Return (item, ids of the items merged into it): a path that is the end of exactly one other path is that path, written from a
    folder below the top."""
    by_end: dict[str, list[Item]] = {}
    for item in items:
        if item.kind == PATH:
            by_end.setdefault(item.text.rpartition("/")[2], []).append(item)
    whole: dict[str, Item] = {item.id: item for item in items}
    ids: dict[str, list[str]] = {item.id: [item.id] for item in items}
    for paths in by_end.values():
        for item in sorted(paths, key=lambda item: (len(item.text), item.text)):
            longer = [other for other in paths if other.text.endswith("/" + item.text)]
            if len(longer) == 1:
                other = whole[longer[0].id]
                mine = whole.pop(item.id)
                whole[other.id] = replace(
                    other, writes=other.writes + mine.writes, sessions=max(other.sessions, mine.sessions),
                    session=max(other.session, mine.session), held=other.held or mine.held,
                )  # fmt: skip
                ids[other.id] += ids.pop(item.id)
    return [(item, ids[id]) for id, item in whole.items()]


class _Draft:
    """The document in the making: what stands in it so far, and what room it takes (characters, as the estimate counts them)."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.room = (tokens - 1) * CHARS_PER_TOKEN[CONTENT] - len(HEAD)
        self.kept: list[Entry] = []
        self.left_out: list[tuple[str, str]] = []
        self.out: set[str] = set()
        self.sections: set[str] = set()
        self.folders: set[str] = set()
        self.files: set[str] = set()

    def leave_out(self, entry: Entry, why: str) -> None:
        self.left_out += [(id, why) for id in entry.ids]
        self.out.update(entry.ids)

    def is_out(self, entry: Entry) -> bool:
        return entry.ids[0] in self.out

    def cost(self, entry: Entry) -> float:
        """Return the characters that an entry would add to the draft as it is."""
        chars = size(entry.text) + 2
        section = entry.kind
        if entry.kind == PATH and entry.home not in self.folders:
            chars += size(entry.home) + 2
        elif entry.kind == NAME and entry.home in self.files:
            section = PATH
            chars += 1
        elif entry.kind in (ERROR, OTHER):
            chars += 1
        if section not in self.sections:
            chars += len(TITLES[section]) + 6 + (len(FENCES[section]) + 5 if section in FENCES else 0)
        return chars

    def add(self, entry: Entry) -> bool:
        """Add an entry, unless it holds a secret; return whether it was added."""
        if MASK in mask(f"{entry.home}/{entry.text}"):
            self.leave_out(entry, SECRET)
            return False
        self.room -= self.cost(entry)
        self.kept.append(entry)
        self.sections.add(PATH if entry.kind == NAME and entry.home in self.files else entry.kind)
        if entry.kind == PATH:
            self.folders.add(entry.home)
            self.files.add(entry.path)
        return True

    def fill(self, entries: list[Entry]) -> None:
        """Add pinned entries, then notes, then whatever is worth most for its room."""
        ranked = sorted(entries, key=lambda entry: (-entry.weight, entry.text, entry.kind))
        self._fill_share([entry for entry in ranked if entry.held], 1.0)
        self._fill_share([entry for entry in ranked if entry.kind == OTHER], NOTES_SHARE)
        self._fill_share([entry for entry in ranked if entry.kind == COMMAND and entry.sessions >= COMMAND_SESSIONS], COMMANDS_SHARE)
        self._fill_share([entry for entry in ranked if entry.kind == ERROR], ERRORS_SHARE)
        rest = [entry for entry in entries if not self.is_out(entry)]
        # What an entry adds is reckoned a little too high; what that leaves is filled too.
        for _ in range(_ROUNDS):
            count = len(self.kept)
            rest = self._fill_by_worth(rest)
            if len(self.kept) == count:
                break
            self.room = (self.tokens - 1) * CHARS_PER_TOKEN[CONTENT] - size(render(self.kept))
        for entry in rest:
            self.leave_out(entry, NO_ROOM)

    def _fill_share(self, ranked: list[Entry], share: float) -> None:
        """Add entries that fit into a share of the room, the most valuable first."""
        least = self.room * (1 - share)
        for entry in ranked:
            if not self.is_out(entry) and self.room - self.cost(entry) >= least:
                self.add(entry)
                self.out.update(entry.ids)

    def _fill_by_worth(self, entries: list[Entry]) -> list[Entry]:
        """Add the entries that are worth most for their room; return those that found none."""
        beside: dict[str, list[int]] = {}  # what becomes cheaper once a folder or a file stands there
        heap = []
        for place, entry in enumerate(entries):
            heap.append((-entry.weight / self.cost(entry), entry.text, place))
            beside.setdefault(entry.kind + entry.home, []).append(place)
        heapq.heapify(heap)
        seen: set[int] = set()
        while heap:
            _, _, place = heapq.heappop(heap)
            entry = entries[place]
            if place in seen:
                continue
            if self.cost(entry) > self.room:
                continue
            seen.add(place)
            opens = [] if entry.kind != PATH else [NAME + entry.path]
            if entry.kind == PATH and entry.home not in self.folders:
                opens.append(PATH + entry.home)
            if not self.add(entry):
                continue
            for key in opens:
                for other in beside.get(key, ()):
                    if other not in seen:
                        heapq.heappush(heap, (-entries[other].weight / self.cost(entries[other]), entries[other].text, other))
        return [entry for place, entry in enumerate(entries) if place not in seen]

    def fitted(self) -> str:
        """Return the text, without the last entries where it is still too long."""
        while self.kept:
            text = render(self.kept)
            if estimate_tokens(text, CONTENT) <= self.tokens and text.count("\n") <= MOST_LINES and len(text.encode()) <= MOST_BYTES:
                return text
            self.leave_out(self.kept.pop(), NO_ROOM)
        return ""
