"""MEMORY.md: what a new session begins with, under a budget. Pure.

Commands that work come first, then where things are, what broke and what fixed it, what the user asked for, and names. What is pinned
stands in it whatever it costs; then commands, notes and errors have their shares, files take what is left by their worth for the room that
they need, and names what files leave. Every part is in an order of its own, not by worth: a session that teaches little changes little of
the text, and the prompt cache of the next one keeps the rest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from hooks.utils.policy.masking import MASK, mask
from hooks.utils.policy.ruleset import MEMORY_TOKENS
from hooks.utils.state.memory import CONTENT, MOST_BYTES, MOST_LINES, MOST_TOKENS
from hooks.utils.state.memory_checks import Fact, Verdict, holds_still
from hooks.utils.state.memory_text import FENCES, HEAD, LEGEND, PURPOSES, TITLES, Entry, one_line, render, size

from .items import COMMAND, EMBEDDING, ERROR, NAME, NOTE, PATH, SESSION
from .learning import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .items import Item

# Tokens that commands may take, whatever the budget.
COMMANDS_TOKENS = 100
# How much of the room notes and errors may take, each, before files and names are considered.
NOTES_SHARE, ERRORS_SHARE = 0.25, 0.08
# An error is listed once its fix was seen in so many sessions, or was a command; a name once so many have looked for it.
ERROR_SESSIONS = NAME_SESSIONS = 2
# How fast what a session opened matters less for those after it: a power of how many there have been.
FADING = 0.6
# What the most similar episode adds to what its items are worth.
SIMILARITY = 1.0
LONGEST_NOTE = 400  # characters
_ROUNDS = 8

FORGOTTEN = "marked as forgotten"
WAITS = "added by an agent, and waits for your yes"
NO_TEXT = "compressed to an embedding"
SECRET = "contains a secret"  # noqa: S105
SAME_FAMILY = "another command of its family is worth more"
SEEN_ONCE = "seen in one session so far"
NOT_DEFINED = "not known to be defined in the project"
EARLIER = "learnt by an earlier version of PopKit, and not seen in a session since"
NO_MORE = "no longer there, or no longer works"
THEIRS = "Claude Code's own memory says it"
NO_ROOM = "worth less for its tokens than what is in it"


@dataclass
class Document:
    """`text`, of so many estimated `tokens`, rendered from `entries`; `items`: ids of those that stand in it, `left_out`: (id, why) of all
    others."""

    text: str
    tokens: int
    items: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list, compare=False, repr=False)


def build(
    items: Iterable[Item],
    tokens: int = MEMORY_TOKENS,
    similar: Mapping[str, float] = {},
    verdicts: Mapping[Fact, Verdict] | None = None,
    says: Callable[[str], bool] = lambda text: False,
) -> Document:
    """Return MEMORY.md of a project's items in at most so many tokens, and never more than the host reads; an empty text where nothing
    fits. `similar`: how much items (by id) are about a prompt, 0 to 1, where there is one: see `search.similarities` · `verdicts`: what
    became of the facts (`facts_of`) in the checkout at hand, None for a memory that is of no checkout, whose items are all believed ·
    `says`: whether the host's own memory says a text."""
    draft = _Draft(min(tokens, MOST_TOKENS))
    entries = _entries(sorted(items, key=lambda item: item.id), draft, similar, verdicts, says)
    draft.fill(entries)
    text = draft.fitted()
    return Document(
        text, estimate_tokens(text, CONTENT), sorted(id for entry in draft.kept for id in entry.ids), sorted(draft.left_out), draft.kept
    )


def facts_of(item: Item) -> list[Fact]:
    """Return what has to be so for an item to be listed."""
    commit, blob = str(item.details.get("commit") or ""), str(item.details.get("blob") or "")
    if item.kind == PATH:
        return [Fact(item.text, "", commit, blob)]
    if item.kind == NAME and item.details.get("defined_in"):
        return [Fact(str(item.details["defined_in"]), item.text, commit, blob)]
    if item.kind == ERROR and item.details.get("file"):
        return [Fact(str(item.details["file"]), "", commit, blob)]
    needs = item.details.get("needs")
    rows = needs if item.kind == COMMAND and isinstance(needs, list) else []
    return [Fact(str(row[0]), str(row[1]), commit) for row in rows if isinstance(row, list) and len(row) > 1]


def _entries(
    items: list[Item], draft: _Draft, similar: Mapping[str, float], verdicts: Mapping[Fact, Verdict] | None, says: Callable[[str], bool]
) -> list[Entry]:
    """Return entries for the items that may be listed; leave the others out of the draft, with the reason."""
    newest = max([item.session for item in items], default=0)
    best: dict[str, Entry] = {}
    listed = []
    for item in items:
        entry = _entry(item, newest, similar.get(item.id, 0.0))
        why = _hindrance(item, verdicts)
        if not why and not holds_still(entry, verdicts or {}):
            why = NO_MORE
        if not why and not item.held and says(entry.said):
            why = THEIRS
        if why:
            draft.leave_out(entry, why)
            continue
        listed.append(entry)
        family = str(item.details.get("family") or "") if item.kind == COMMAND and not item.held else ""
        if family and (family not in best or (-entry.weight, entry.text) < (-best[family].weight, best[family].text)):
            best[family] = entry
        if family:
            entry.family = family
    for entry in listed:
        if entry.family and best[entry.family] is not entry:
            draft.leave_out(entry, SAME_FAMILY)
    return [entry for entry in listed if not draft.is_out(entry)]


def _hindrance(item: Item, verdicts: Mapping[Fact, Verdict] | None) -> str:
    """Return why an item is not listed, whatever it is worth; "" for one that may be."""
    if item.marked_at is not None:
        return FORGOTTEN
    if item.waits:
        return WAITS
    if item.level == EMBEDDING or not one_line(item.text):
        return NO_TEXT
    if item.details.get(GONE):
        return NO_MORE
    return "" if item.held or item.source != SESSION else _doubt(item, verdicts)


def _doubt(item: Item, verdicts: Mapping[Fact, Verdict] | None) -> str:
    """Return why what a session taught is not listed yet; "" where it may be."""
    if item.kind == ERROR and item.sessions < ERROR_SESSIONS and not str(item.details.get("fix")).startswith("run "):
        return SEEN_ONCE
    if verdicts is None:
        return ""
    if item.kind == PATH and not (item.details.get("opened") or any(fact in verdicts for fact in facts_of(item))):
        return EARLIER
    if item.kind == COMMAND and not item.details.get("purpose"):
        return EARLIER
    if item.kind == NAME and not item.details.get("defined_in"):
        return NOT_DEFINED
    return SEEN_ONCE if item.kind == NAME and item.sessions < NAME_SESSIONS else ""


def _entry(item: Item, newest: int, similar: float) -> Entry:
    text, home, kind = one_line(item.text), "", item.kind if item.kind in TITLES else NOTE
    if kind == PATH:
        home, _, text = text.rpartition("/")
    elif kind == NAME:
        home = one_line(str(item.details.get("defined_in") or ""))
    elif kind == COMMAND:
        home = str(item.details.get("purpose") or "")
    elif kind == ERROR:
        fix = one_line(str(item.details.get("fix") or ""))
        text = f"{text} → {fix}" if fix else text
    if kind in (ERROR, NOTE) and len(text) > LONGEST_NOTE:
        text = text[: LONGEST_NOTE - 1] + "…"
    return Entry(kind, text, home, facts_of(item), [item.id], _wanted(item, newest) + SIMILARITY * similar, item.held)


def _wanted(item: Item, newest: int) -> float:
    """Return how likely the next session wants an item, by how many sessions have used it and how long ago. The user's own words do not
    fade."""
    ago = 0 if item.source != SESSION else max(0, newest - item.session)
    return log(1 + item.sessions) / float((1 + ago) ** FADING)


class _Draft:
    """The document in the making: what stands in it so far, and what room it takes (characters, as the estimate counts them)."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.room = self._room("")
        self.kept: list[Entry] = []
        self.left_out: list[tuple[str, str]] = []
        self.out: set[str] = set()
        self.sections: set[str] = set()
        self.folders: set[str] = {""}
        self.files: set[str] = set()
        self.has_legend = False

    def _room(self, text: str) -> float:
        return (self.tokens - 1) * CHARS_PER_TOKEN[CONTENT] - size(text or HEAD)

    def leave_out(self, entry: Entry, why: str) -> None:
        self.left_out += [(id, why) for id in entry.ids]
        self.out.update(entry.ids)

    def is_out(self, entry: Entry) -> bool:
        return entry.ids[0] in self.out

    def cost(self, entry: Entry) -> float:
        """Return the characters that an entry would add to the draft as it is."""
        chars = size(entry.text) + 2
        section = entry.kind
        if entry.kind == PATH:
            chars += (1 if self.has_legend else len(LEGEND)) if entry.changed else 0
            chars += self._cost_of_folder(entry.home) if entry.home not in self.folders or PATH not in self.sections else 0
        elif entry.kind == NAME and entry.home in self.files:
            section = PATH
            chars += 1
        elif entry.kind in (ERROR, NOTE):
            chars += 1
        elif entry.kind == NAME:
            chars += size(entry.home) + 2
        if section not in self.sections:
            chars += len(TITLES[section]) + 6 + (len(FENCES[section]) + 5 if section in FENCES else 0)
        return chars

    def _cost_of_folder(self, folder: str) -> float:
        above = folder
        while above not in self.folders:
            above = above.rpartition("/")[0]
        return size(folder) - size(above) + above.count("/") + 4

    def add(self, entry: Entry) -> bool:
        """Add an entry, unless it holds a secret; return whether it was added."""
        if MASK in mask(f"{entry.home}/{entry.text}"):
            self.leave_out(entry, SECRET)
            return False
        self.room -= self.cost(entry)
        self.kept.append(entry)
        self.out.update(entry.ids)
        self.sections.add(PATH if entry.kind == NAME and entry.home in self.files else entry.kind)
        if entry.kind == PATH:
            self.has_legend |= entry.changed
            self.files.add(entry.path)
            folder = entry.home
            while folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]
        return True

    def fill(self, entries: list[Entry]) -> None:
        """Add pinned entries, then commands, notes and errors as far as their share goes, then whatever is worth most for its room."""
        ranked = sorted(entries, key=lambda entry: (-entry.weight, entry.text, entry.kind))
        self._fill_share([entry for entry in ranked if entry.held], self.room)
        self._fill_share(_by_turns([entry for entry in ranked if entry.kind == COMMAND]), COMMANDS_TOKENS * CHARS_PER_TOKEN[CONTENT])
        room = self.room
        self._fill_share([entry for entry in ranked if entry.kind == NOTE], NOTES_SHARE * room)
        self._fill_share([entry for entry in ranked if entry.kind == ERROR], ERRORS_SHARE * room)
        for kind in (PATH, NAME):
            rest = [entry for entry in entries if entry.kind == kind and not self.is_out(entry)]
            # What an entry adds is reckoned a little too high; what that leaves is filled too.
            for _ in range(_ROUNDS):
                count = len(self.kept)
                rest = self._fill_by_worth(rest)
                if len(self.kept) == count:
                    break
                self.room = self._room(render(self.kept))
        for entry in entries:
            if not self.is_out(entry):
                self.leave_out(entry, NO_ROOM)

    def _fill_share(self, ranked: list[Entry], share: float) -> None:
        """Add entries, the first ones first, that fit into so many characters of the room."""
        least = max(0.0, self.room - share)
        for entry in ranked:
            if not self.is_out(entry) and self.room - self.cost(entry) >= least:
                self.add(entry)

    def _fill_by_worth(self, entries: list[Entry]) -> list[Entry]:
        """Add the entries that are worth most for their room; return those that found none."""
        beside: dict[str, list[int]] = {}  # the files that become cheaper once their folder has a line
        heap = []
        for place, entry in enumerate(entries):
            heap.append((-entry.weight / self.cost(entry), entry.text, place))
            beside.setdefault(entry.home, []).append(place)
        heapq.heapify(heap)
        seen: set[int] = set()
        while heap:
            _, _, place = heapq.heappop(heap)
            entry = entries[place]
            if place in seen or self.cost(entry) > self.room:
                continue
            seen.add(place)
            opens = entry.kind == PATH and entry.home not in self.folders
            if self.add(entry) and opens:
                for other in beside[entry.home]:
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


def _by_turns(commands: list[Entry]) -> list[Entry]:
    """Return commands, ranked, so that one of each purpose comes before a second one of any."""
    counts: dict[str, int] = {}
    turns = []
    for place, entry in enumerate(commands):
        counts[entry.home] = counts.get(entry.home, 0) + 1
        order = PURPOSES.index(entry.home) if entry.home in PURPOSES else len(PURPOSES)
        turns.append((counts[entry.home], order, place, entry))
    return [entry for *_, entry in sorted(turns, key=lambda turn: turn[:3])]
