"""The items that memory keeps, with the checks that external values pass to become one. Pure."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from dataclasses import dataclass, field, fields

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.retention_kit.marks import Mark
from popkit_retention.core.state.memory_records import COMMAND, ERROR, NAME, NOTE, PATH

HOT, WARM, COLD, ARCHIVE = TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")
FULL, SUMMARY, KEYWORDS, EMBEDDING = LEVELS = ("full", "summary", "keywords", "embedding")
# The kinds that extraction makes; an author's own agent may keep items of any other kind.
KINDS = (PATH, NAME, COMMAND, ERROR, NOTE)
CODE, PROSE, SPEC = PROFILES = ("code", "prose", "spec")
# Who says so. An item that an agent has added waits to be accepted by the user; then it is ACCEPTED, so that its source stays known.
SESSION, USER, AGENT, ACCEPTED, IMPORT = SOURCES = ("session", "user", "agent", "accepted", "import")
# Who wants an item deleted. Only governance deletes items that a retention policy has marked.
BY_USER, BY_TOOL, BY_JOB, BY_POLICY = MARKERS = ("user", "tool", "job", "policy")

# A checkout with none of this many files is of something else (an orphan branch, a folder made anew), and says nothing of any of them.
FOREIGN_FILES = 3
# In an error's details: how often its fix has ended it.
TIMES = "times"
DIMENSIONS = 384  # of an embedding
LONGEST_TEXT = 1_000_000  # characters
LONGEST_NAME = 200  # of a kind, a project, an episode, a speaker
ACCESSES_KEPT = 32  # times of the newest accesses, and of the newest reinforcements
# A clock may be wrong by this much before a time counts as being in the future (seconds).
CLOCK_SLACK_S = 300.0
_LARGEST = sys.float_info.max  # a whole number may be larger than any float


class BadItem(PopkitError, ValueError):
    """A value that cannot be kept; the message says what is wrong, and with which item."""


@dataclass
class Item:
    """A remembered thing. All times are seconds since the epoch.

    - `text`: the text at the item's `level`, "" for an embedding. `original`: whether the full text is kept apart.
    - `project`: the project's key, "" for none. `profile`: the formula that values it. `source`: who said so, with this `confidence`, 0 to
      1.
    - `episode`, `place`, `speaker`: the conversation in which it was said, as which turn, by whom ("" and 0 where that does not matter).
    - `writes`: how often it was written, in how many `sessions`. `reinforcements`: how many sessions after its first made use of it;
      `reinforced`: the newest times of that, oldest first.
    - `access_count`, `accesses`: how often it was asked for, and the newest times, oldest first. `last_accessed`: the last of them; until
      the first access, when it was made. `session`: the number of the session, counted by project, that last wrote it or asked for it.
    - `tier`, since `tier_since`, with the score that it had then (`tier_score`), come from `previous_tier`; `by_hand`: the user moved it
      there.
    - `uniqueness`, `score`, `retention` (a probability): as last computed, 0 to 1.
    - `held`: the user keeps it where it is; `was_held`: did so once. `key`: a decision that is kept for good (see `for_good`).
    - `marked_at`: since when it is forgotten; `marked_by`: the user, an agent's tool, the job or a retention policy. It is deleted at the
      end of its grace period.
    - `user_id`, `agent_id`, `session_id`: the scope that an author's own agent keeps it for, "" for none. `metadata`: the author's own
      facts about it. `expires_at`: from when on nobody is shown it; the job then marks it.
    """

    id: str
    text: str
    project: str = ""
    kind: str = NOTE
    profile: str = PROSE
    source: str = USER
    confidence: float = 1.0
    episode: str = ""
    place: int = 0
    speaker: str = ""
    created_at: float = 0.0
    writes: int = 1
    sessions: int = 1
    access_count: int = 0
    last_accessed: float = 0.0
    accesses: list[float] = field(default_factory=list)
    reinforcements: int = 0
    reinforced: list[float] = field(default_factory=list)
    session: int = 0
    tier: str = WARM
    previous_tier: str = ""
    tier_since: float = 0.0
    tier_score: float = 0.0
    level: str = FULL
    original: bool = False
    uniqueness: float = 1.0
    score: float = 0.0
    retention: float = 1.0
    held: bool = False
    was_held: bool = False
    key: bool = False
    marked_at: float | None = None
    marked_by: str = ""
    embedding: list[float] | None = None
    details: dict[str, object] = field(default_factory=dict)
    user_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    metadata: dict[str, object] = field(default_factory=dict)
    expires_at: float | None = None
    by_hand: bool = False

    def accessed_since(self, at: float) -> bool:
        """Return whether the item was accessed after a time."""
        return bool(self.access_count) and self.last_accessed > at

    def has_expired(self, now: float) -> bool:
        """Return whether nobody is to be shown it at a time."""
        return self.expires_at is not None and now >= self.expires_at

    @property
    def mark(self) -> Mark | None:
        """Return its mark for deletion; None where it has none."""
        return None if self.marked_at is None else Mark(self.id, self.marked_at, self.marked_by)

    @property
    def waits(self) -> bool:
        """Return whether an agent has added it and the user has not accepted it yet."""
        return self.source == AGENT

    @property
    def for_good(self) -> bool:
        """Return whether it is a key decision that does not rest on an agent's word alone."""
        return self.key and not self.waits

    def to_json(self) -> dict[str, object]:
        """Return all fields as JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def times_of(item: Item) -> int:
    """Return how often the fix of an error has ended it; 1 where that was not counted."""
    times = item.details.get(TIMES)
    return times if isinstance(times, int) else 1


def id_of(project: str, kind: str, text: str) -> str:
    """Return the id of a learnt item: the same thing of the same project is one item, whichever session taught it."""
    named = f"{project}\0{kind}\0{text}".encode("utf-8", "surrogatepass")
    return "m" + hashlib.sha256(named).hexdigest()[:11]


def from_json(value: object, now: float) -> Item:
    """Return an Item from an external value, checked; omitted fields have their defaults. Raise BadItem, which says what is wrong."""
    if not isinstance(value, dict):
        raise BadItem(f"an item is an object, not {type(value).__name__}")
    unknown = sorted(set(value) - _NAMES)
    if unknown:
        raise BadItem(f"unknown field {unknown[0]!r:.60}")
    if not isinstance(value.get("id"), str) or not isinstance(value.get("text"), str):
        raise BadItem("an item needs an id and a text")
    item = Item(**value)
    check(item, now)
    return item


def check(item: Item, now: float) -> None:
    """Raise BadItem for a type, a number or a time that no store may hold."""
    for name, kind in _TYPES.items():
        value = getattr(item, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadItem(f"{item.id!r:.40}: {name} is not {_TYPE_NAMES[kind]}")
    _check_texts(item)
    _check_numbers(item, now)
    if item.embedding is not None:
        check_embedding(item.embedding, item.id)
    for name in ("details", "metadata"):
        value = getattr(item, name)
        if not isinstance(value, dict):
            raise BadItem(f"{item.id!r:.40}: {name} is not an object")
        if value and not _is_unicode(_written(item.id, name, value)):
            raise BadItem(f"{item.id!r:.40}: {name} is not valid Unicode (it has lone surrogates)")


def _check_texts(item: Item) -> None:
    shown = f"{item.id!r:.40}"
    if not item.id or len(item.id) > LONGEST_NAME or not item.id.isprintable():
        raise BadItem(f"{shown}: an id is 1 to {LONGEST_NAME} printable characters")
    if not item.text.strip() and item.level != EMBEDDING:
        raise BadItem(f"{shown}: its text is empty")
    if len(item.text) > LONGEST_TEXT:
        raise BadItem(f"{shown}: its text has {len(item.text):,} characters; at most {LONGEST_TEXT:,} are kept")
    for name in ("project", "kind", "episode", "speaker", "user_id", "agent_id", "session_id"):
        if len(getattr(item, name)) > LONGEST_NAME:
            raise BadItem(f"{shown}: {name} has more than {LONGEST_NAME} characters")
    for name, known in _KNOWN.items():
        if getattr(item, name) not in known:
            raise BadItem(f"{shown}: {name} is {getattr(item, name)!r:.40}. Known: {', '.join(filter(None, known))}")
    for name in ("id", "text", "project", "kind", "episode", "speaker", "user_id", "agent_id", "session_id"):
        if not _is_unicode(getattr(item, name)):
            raise BadItem(f"{shown}: {name} is not valid Unicode (it has lone surrogates)")
        if "\0" in getattr(item, name):
            raise BadItem(f"{shown}: {name} is binary (it has NUL characters)")


def _written(id: str, name: str, value: dict[str, object]) -> str:
    """Return an object of an item as an export writes it. Raise BadItem for values that are not JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadItem(f"{id!r:.40}: {name}: not a JSON value: {error}") from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_numbers(item: Item, now: float) -> None:
    shown = f"{item.id!r:.40}"
    for name in ("confidence", "uniqueness", "score", "tier_score", "retention"):
        if not 0.0 <= getattr(item, name) <= 1.0:  # NaN is not either
            raise BadItem(f"{shown}: {name} is {getattr(item, name)!r:.40}, not a number from 0 to 1")
    for name in ("writes", "sessions", "access_count", "reinforcements", "session", "place"):
        if not 0 <= getattr(item, name) < 2**53:
            raise BadItem(f"{shown}: {name} is {getattr(item, name)!r:.40}, not a count")
    times = [getattr(item, name) for name in ("created_at", "last_accessed", "tier_since")]
    times += [] if item.marked_at is None else [item.marked_at]
    for name in ("accesses", "reinforced"):
        if not isinstance(getattr(item, name), list):
            raise BadItem(f"{shown}: {name} is not a list")
    for at in (*times, *item.accesses, *item.reinforced):
        if not isinstance(at, (int, float)) or isinstance(at, bool) or not 0 <= at < math.inf:  # NaN is not either
            raise BadItem(f"{shown}: {at!r:.40} is not a time (seconds since 1970)")
        if at > now + CLOCK_SLACK_S:
            raise BadItem(f"{shown}: a time is in the future ({at!r:.40}; now is {now:.0f}). Check the clock")
    expires = item.expires_at
    if expires is not None and (isinstance(expires, bool) or not isinstance(expires, (int, float)) or not 0 <= expires < math.inf):
        raise BadItem(f"{shown}: expires_at is {expires!r:.40}, not a time (seconds since 1970)")


def check_embedding(embedding: object, id: str = "") -> None:
    """Raise BadItem for anything but a list of DIMENSIONS finite numbers."""
    if not isinstance(embedding, list) or len(embedding) != DIMENSIONS:
        had = f"{len(embedding)} numbers" if isinstance(embedding, list) else type(embedding).__name__
        raise BadItem(f"{id!r:.40}: an embedding has {DIMENSIONS} numbers, this one is {had}")
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) <= _LARGEST for x in embedding):
        raise BadItem(f"{id!r:.40}: an embedding holds finite numbers alone")


_NAMES = frozenset(each.name for each in fields(Item))
_KNOWN = {
    "tier": TIERS, "previous_tier": ("", *TIERS), "level": LEVELS, "profile": PROFILES, "source": SOURCES, "marked_by": ("", *MARKERS),
}  # fmt: skip
_TYPE_NAMES: dict[object, str] = {str: "a text", int: "a whole number", bool: "true or false", (int, float): "a number"}
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "text", "project", "kind", "profile", "source", "episode", "speaker", "user_id", "agent_id", "session_id"), str),
    **dict.fromkeys(("tier", "previous_tier", "level", "marked_by"), str),
    **dict.fromkeys(("place", "writes", "sessions", "access_count", "reinforcements", "session"), int),
    **dict.fromkeys(("held", "was_held", "key", "original", "by_hand"), bool),
    **dict.fromkeys(("confidence", "uniqueness", "score", "tier_score", "retention"), (int, float)),
    **dict.fromkeys(("created_at", "last_accessed", "tier_since"), (int, float)),
}
