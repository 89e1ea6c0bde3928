"""Builds MEMORY.md, which a new session begins with, within a budget. Pure.

Commands that work come first, then where things are, what broke and what fixed it, what the user asked for, and names. A pinned item is
always in it, whatever it costs; `draft` shares the room among the others. Every part has an order of its own, not by worth: a session that
teaches little changes little of the text, and the prompt cache of the next session keeps the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.ruleset import MEMORY_TOKENS
from popkit_retention.core.state.memory import MOST_TOKENS
from popkit_retention.core.state.memory_checks import holds_still
from popkit_retention.core.state.memory_records import CONTENT, RUN, Entry, Fact, Verdict
from popkit_retention.core.state.memory_records import GONE as GONE_FILE
from popkit_retention.core.state.memory_text import TITLES

from .draft import Draft
from .items import COMMAND, EMBEDDING, ERROR, FOREIGN_FILES, NAME, NOTE, PATH, SESSION, times_of
from .learning import GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .items import Item

# How often the same fix must have ended an error before both are listed: once, it may have been anything that ended it.
ERROR_TIMES = 2
# The number of sessions from which on a name is listed that they looked for, a program of the project that they ran, and a command beside
# a better one for the same purpose. Fewer are enough where there have been fewer sessions. A file is listed from the first on.
NAME_SESSIONS = 2
COMMAND_SESSIONS = 3
# An item's worth rises with the number of sessions that used it (to this power) and with how recently they did.
WORTH = 0.5
# The most that a similar episode adds to the worth of its items.
SIMILARITY = 1.0
LONGEST_NOTE = 400  # characters

FORGOTTEN = "marked as forgotten"
WAITS = "added by an agent, and waits for your approval"
NO_TEXT = "compressed to an embedding"
SAME_FAMILY = "another command of its family is worth more"
SEEN_ONCE = "seen in one session so far"
FIXED_ONCE = "its fix has ended it once so far"
SELDOM = "run in too few sessions so far"
NOT_DEFINED = "not known to be defined in the project"
EARLIER = "learnt by an earlier version of PopKit, and not seen in a session since"
NO_MORE = "no longer there, or no longer works"
THEIRS = "Claude Code's own memory already has it"
_TAG = re.compile(r"<(?=[/!?A-Za-z])")


@dataclass
class Document:
    """`text`, of an estimated number of `tokens`, rendered from `entries`; `items`: the ids of those in it, `left_out`: (id, why) of all
    others that were considered. `is_partial`: the project has more items than were considered, see `Store.shortlist`."""

    text: str
    tokens: int
    items: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    is_partial: bool = False
    entries: list[Entry] = field(default_factory=list, compare=False, repr=False)


def build(
    items: Iterable[Item],
    tokens: int = MEMORY_TOKENS,
    similar: Mapping[str, float] = {},
    verdicts: Mapping[Fact, Verdict] | None = None,
    says: Callable[[str], bool] = lambda text: False,
) -> Document:
    """Return MEMORY.md of a project's items in at most this many tokens, and never more than the host reads; an empty text where nothing
    fits. `similar`: by id, how much an item is about a prompt, 0 to 1, if there is one: see `search.similarities` · `verdicts`: what the
    checkout at hand says of the facts (`facts_of`); None for a memory without a checkout, whose items are all believed · `says`: whether
    the host's own memory says a text."""
    draft = Draft(min(tokens, MOST_TOKENS))
    entries = _entries(sorted(items, key=lambda item: item.id), draft, similar, verdicts, says)
    draft.fill(entries)
    text = draft.fitted()
    return Document(
        text,
        estimate_tokens(text, CONTENT),
        sorted(id for entry in draft.entries for id in entry.ids),
        sorted(draft.left_out),
        entries=draft.entries,
    )


def facts_of(item: Item) -> list[Fact]:
    """Return the facts that must hold for an item to be listed."""
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
    items: list[Item], draft: Draft, similar: Mapping[str, float], verdicts: Mapping[Fact, Verdict] | None, says: Callable[[str], bool]
) -> list[Entry]:
    """Return entries for the items that may be listed; leave the others out of the draft, with the reason."""
    newest = max([item.session for item in items], default=0)
    files = [verdicts[fact] for item in items if item.kind == PATH for fact in facts_of(item) if fact in verdicts] if verdicts else []
    if len(files) >= FOREIGN_FILES and all(verdict.state == GONE_FILE for verdict in files):
        verdicts = {}  # a session checks each entry again in its own checkout
    listed: list[tuple[Item, Entry]] = []
    for item in items:
        entry = _entry(item, newest, similar.get(item.id, 0.0))
        why = _hindrance(item, verdicts)
        if not why and not holds_still(entry, verdicts or {}):
            why = NO_MORE
        if not why and not item.held and says(entry.wording):
            why = THEIRS
        if why:
            draft.leave_out(entry, why)
        else:
            listed.append((item, entry))
    _leave_commands_out([command for command in listed if command[0].kind == COMMAND and not command[0].held], newest, draft)
    return [entry for _, entry in listed if not draft.is_out(entry)]


def _leave_commands_out(commands: list[tuple[Item, Entry]], newest: int, draft: Draft) -> None:
    """Leave out all but the best command of each family, and programs and second commands for a purpose that too few sessions have run."""
    families: set[str] = set()
    purposes: set[str] = set()
    least = {RUN: min(COMMAND_SESSIONS, newest)}
    for item, entry in sorted(commands, key=lambda command: (-command[1].weight, command[1].text)):
        family = str(item.details.get("family") or "")
        if family and family in families:
            draft.leave_out(entry, SAME_FAMILY)
        elif item.source == SESSION and item.sessions < (COMMAND_SESSIONS if entry.home in purposes else least.get(entry.home, 1)):
            draft.leave_out(entry, SELDOM)
        families.add(family)
        purposes |= {entry.home} - {""}


def _hindrance(item: Item, verdicts: Mapping[Fact, Verdict] | None) -> str:
    """Return why an item is not listed, whatever it is worth; "" for one that may be."""
    if item.marked_at is not None:
        return FORGOTTEN
    if item.waits:
        return WAITS
    if item.level == EMBEDDING or not _one_line(item.text):
        return NO_TEXT
    if item.details.get(GONE):
        return NO_MORE
    return "" if item.held or item.source != SESSION else _doubt(item, verdicts)


def _doubt(item: Item, verdicts: Mapping[Fact, Verdict] | None) -> str:
    """Return why an item that a session taught is not listed yet; "" where it may be."""
    if item.kind == ERROR and times_of(item) < ERROR_TIMES:
        return FIXED_ONCE
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
    text, home, kind = _one_line(item.text), "", item.kind if item.kind in TITLES else NOTE
    if kind == PATH:
        home, _, text = text.rpartition("/")
    elif kind == NAME:
        home = _one_line(str(item.details.get("defined_in") or ""))
    elif kind == COMMAND:
        home = str(item.details.get("purpose") or "")
    elif kind == ERROR:
        fix = _one_line(str(item.details.get("fix") or ""))
        text = f"{text} → {fix}" if fix else text
    if kind in (ERROR, NOTE) and len(text) > LONGEST_NOTE:
        text = text[: LONGEST_NOTE - 1] + "…"
    return Entry(kind, text, home, facts_of(item), [item.id], wanted(item, newest) + SIMILARITY * similar, item.held)


def wanted(item: Item, newest: int) -> float:
    """Return what an item is worth to the next session, by how many sessions have used it and how long ago. The user's own words do not
    fade."""
    ago = 0 if item.source != SESSION else max(0, newest - item.session)
    return float((item.sessions / (1 + ago)) ** WORTH)


def _one_line(text: str) -> str:
    """Return a text that is safe within a line: nothing in it ends the line, or a fence or a tag around it."""
    if not text.isprintable():
        text = "".join([char if char.isprintable() else " " for char in text])
    return " ".join(_TAG.sub("‹", text.replace("```", "'''")).split())
