"""One request for an operation on a context, what the words in it mean, and its answer: text for the hook and the pane, text or data for
the shell and the page.

Words name results (`T12`, `12`, a tool_use id or a unique part of one), pins and profiles.
"""

from __future__ import annotations

from .. import text
from ..hosts import is_kept, kept_by, protocol
from ..io.codec import dumps, loads
from ..policy import globs
from ..policy.ruleset import DEFAULT
from ..reclaim import outlook
from ..reclaim.access import Refused
from ..state import asking, sockets
from ..state.noted import ONLY, Noted
from ..views import phrases, report
from ..views.report import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from ..flag_parser import Parsed
    from ..state.site import Site
    from ..text import Line
    from ..views.shapes import Report, ResultRow

    class InPlace(Protocol):
        """Changes a conversation: as soon as Claude is idle, or, with `is_later`, once the session is resumed. Refused where that cannot
        be."""

        is_later: bool

        def clear(self, ids: Sequence[str], share: float | None = None, further: int = 0) -> None:
            """Take these results out; where they leave a cold cache also what is needed least, until only this share of the conversation
            stays: so many tokens `further`."""

        def put_back(self, handles: Sequence[str]) -> None:
            """Put back what is archived under these handles."""

        def cancel(self) -> str:
            """Withdraw what was asked for last and is not done yet; return its kind (state/noted.py), "" for nothing."""


# How a person calls us in every version of Claude Code, and where code of ours inside it answers.
COMMAND, IN_CLIENT = "/popkit:context", "/popkit"
_WITHOUT = (
    "nothing was changed. In Claude Code 2.1.326 and later, code of PopKit's inside the client takes results out of the running"
    " conversation and puts them back; this session runs without it"
)
_HELPER_S = 5.0  # how long the helper may take to answer


class Answer:
    """The lines to show, the same as data, and the error where the request cannot be met."""

    __slots__ = ("data", "error", "lines")

    def __init__(self, lines: list[Line], data: object = None, error: str = ""):
        self.lines = lines
        self.data = data
        self.error = error


class Request:
    """The parsed words, and the session that they are about. `command`: how the reader calls us; `in_place`: who changes the
    conversation."""

    __slots__ = ("_seen", "arguments", "command", "flags", "in_place", "now", "site", "transcript_path")

    def __init__(self, parsed: Parsed, site: Site, transcript_path: str, now: float, command: str, in_place: InPlace) -> None:
        self.arguments = parsed.arguments
        self.flags = parsed.flags
        self.site = site
        self.transcript_path = transcript_path
        self.now = now
        self.command = command
        self.in_place = in_place
        self._seen: outlook.Outlook | None = None

    def look(self) -> outlook.Outlook:
        """Return the main context, reconciled with its transcript once."""
        if self._seen is None:
            self._seen = outlook.look(self.site, self.transcript_path, self.now)
        return self._seen

    def report(self) -> Report:
        """Return the report of it."""
        return report.build(self.look())

    def change(self, entries: list[dict[str, Any]]) -> Report:
        """Journal what the user changes; return the report after it."""
        outlook.change(self.look(), self.site, entries)
        return self.report()


class ThroughHelper:
    """An InPlace for a shell or the page, outside the client: the mod does what its helper is asked to do. Refused where the helper does
    not answer."""

    is_later = False

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def clear(self, ids: Sequence[str], share: float | None = None, _further: int = 0) -> None:
        self._ask({"only": list(ids), "share": share})

    def put_back(self, handles: Sequence[str]) -> None:
        self._ask({"back": list(handles)})

    def cancel(self) -> str:
        cancelled = self._ask({"cancel": True}).get("cancelled")
        if cancelled is True:  # a helper of an earlier version, which cancels nothing else
            return ONLY
        return cancelled if isinstance(cancelled, str) else ""

    def _ask(self, body: dict[str, object]) -> dict[str, object]:
        try:
            answer = loads(asking.ask(self._socket, "/want", dumps(body).encode("ascii"), _HELPER_S).decode())
        except (OSError, ValueError):
            answer = {}
        if not isinstance(answer, dict) or answer.get("heard") is not True:
            raise Refused("the session is running, but PopKit in it does not answer. Type the same as /popkit there")
        return answer


class OnceResumed:
    """An InPlace for a session that does not run with our code: what is asked for is noted, and done when it is resumed with that."""

    is_later = True

    def __init__(self, site: Site) -> None:
        self._site = site
        self._noted = Noted(site.home, site.session_id)

    def clear(self, ids: Sequence[str], share: float | None = None, further: int = 0) -> None:
        self._check()
        self._noted.add(only=list(ids), share=share, further=further)

    def put_back(self, handles: Sequence[str]) -> None:
        self._check()
        self._noted.add(back=list(handles))

    def cancel(self) -> str:
        return self._noted.forget_newest()

    def _check(self) -> None:
        if self._site.data_rules:
            raise Refused("nothing was changed. " + self._site.rules_in_words())
        if is_kept(self._site.session_id):
            raise Refused(kept_by(protocol.of(self._site.session_id).NAME))


class Without:
    """An InPlace for a session that runs without our code inside the client."""

    is_later = False

    def clear(self, _ids: Sequence[str], _share: float | None = None, _further: int = 0) -> None:
        raise Refused(_WITHOUT)

    def put_back(self, _handles: Sequence[str]) -> None:
        raise Refused(_WITHOUT)

    def cancel(self) -> str:
        return ""


WITHOUT = Without()


def in_place_of(site: Site) -> InPlace:
    """Return the InPlace of a session for a process outside of the client."""
    paths = sockets.of_session(site.lasting_home, site.session_id) if site.session_id else []
    return ThroughHelper(paths[0]) if paths else OnceResumed(site)


# --- the words of a request ---

_NEAR = 5
# The shortest part of an id that is accepted: a shorter one could match by chance.
_LEAST = 4
GO_BACK = DEFAULT  # not a profile to choose, but the end of a choice
_PATTERN_CHARS = frozenset("/.*?[\\")


class NotFound(Exception):
    """No result has that name, or more than one; the message says what to do."""


def number_of(word: str) -> int | None:
    """Return 12 for `T12`, `t12` and `12`."""
    digits = word[1:] if word[:1] in ("T", "t") else word
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None


def find_result(report: Report, word: str) -> ResultRow:
    """Return the row of a report that a word names; NotFound where there is none, or where it could be several."""
    rows = report["results"]
    number = number_of(word)
    if number is not None:
        for row in rows:
            if row["number"] == number:
                return row
    exact = [row for row in rows if row["id"] == word]
    like = exact or ([row for row in rows if word in row["id"]] if len(word) >= _LEAST else [])
    if len(like) == 1:
        return like[0]
    if like:
        which = _names(like) if len(like) <= _NEAR else f"{len(like)} results, the newest {_names(like)}"
        raise NotFound(f"{text.quote(word)} could be {which}. Give more of the id, or the number")
    raise NotFound(_unknown(report, word, number))


def _unknown(report: Report, word: str, number: int | None) -> str:
    rows = report["results"]
    if not rows:
        return "there are no results in this context yet"
    if number is None:
        like = f"Give a number such as {phrases.number(rows[-1])}. The newest are {_names(rows)}"
        return f"no result has an id with {text.quote(word)} in it. {like}"
    near = sorted(rows, key=lambda row: (abs(row["number"] - number), row["number"]))[:_NEAR]
    near.sort(key=lambda row: row["number"])
    if 0 < number <= report["calls"]:
        return f"T{number} is out of the context (compacted). Near it: {_names(near)}"
    return f"there is no call T{number}. The newest is T{report['calls']}. Near it: {_names(near)}"


def _names(rows: list[ResultRow]) -> str:
    return text.listed([phrases.number(row) for row in rows[-_NEAR:]])


# --- pins and profiles ---


class Unknown(Exception):
    """An unknown name; the message lists the known ones."""


def profile_target(name: str) -> str | None:
    """Return the profile that a name means for the session; None to go back to the configured one."""
    return None if name == GO_BACK else name


def pin_target(report: Report, word: str) -> str:
    """Return the id that a word names, or the word itself where it is a path pattern."""
    try:
        row = find_result(report, word)
        if row["state"] == "cleared":
            raise Unknown(f"{phrases.number(row)} was cleared. To bring it back and hold it: restore {phrases.number(row)} --in-place")
        return row["id"]
    except NotFound:
        if number_of(word) is not None or not word or len(word) > globs.LONGEST_PATTERN:
            raise
        if not _PATTERN_CHARS.isdisjoint(word) or matching(report, word):
            return word
        raise


def unpin_target(report: Report, word: str) -> str:
    """Return the pin that a word names: the pin itself, or that of a result."""
    pins = report["pins"]
    if word in pins:
        return word
    try:
        row = find_result(report, word)
    except NotFound:
        like = [pin for pin in pins if word and word in pin]
        if len(like) == 1:
            return like[0]
        raise Unknown(f"nothing is pinned as {text.quote(word)}. {_pinned(report)}") from None
    if row["id"] in pins:
        return row["id"]
    name = phrases.number(row)
    if not row["pinned_by"]:
        raise Unknown(f"{name} is not pinned. {_pinned(report)}")
    if row["pinned_by"] in pins:
        raise Unknown(f"{name} is held by the pattern {text.quote(row['pinned_by'])}. Unpin that instead")
    raise Unknown(f"{name} is held by {text.quote(row['pinned_by'])} in the configuration. To see the files: popkit config path")


def _pinned(report: Report) -> str:
    names = {row["id"]: phrases.number(row) for row in report["results"]}
    pins = [names.get(pin) or text.quote(pin) for pin in report["pins"]]
    return "Pinned: " + text.listed(pins) if pins else "Nothing is pinned in this session"
