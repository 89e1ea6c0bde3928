"""Tell the summariser of a compaction what is dead and what must survive, archive what the summary folds away, and give back an index of it
afterwards. What that adds to the conversation is booked.
"""

from __future__ import annotations

from .. import archive
from ..hosts.claude_code import transcript
from ..io import files
from ..io.codec import dumps, loads
from ..io.system import os
from ..policy import kinds
from ..policy.estimate import estimate_tokens
from ..state import disk, journal, live, store
from ..state.archived import errors
from . import compaction_text, places
from .access import Opened, Refused, chain_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.context import ContextState, Result
    from ..state.rebuild import Rebuilt
    from ..state.site import Site

    _Row = tuple[str, str, int]  # of the index: handle, label, tokens

# Contents of fewer tokens are not worth a line of the index, nor a record.
_LEAST_TOKENS = 100
# Kinds of results that must survive a summary word for word.
_VERBATIM = tuple([kind.name for kind in kinds.ALL if kind.is_verbatim])
# The hook on a compaction runs so soon after the code inside the client, or it is about another one.
_ADVISED_S = 60.0


def before(site: Site, transcript_path: str, now: float, manual: bool) -> str | None:
    """Return the advice for the summariser. Archives what the context holds, and remembers the index of it until the compaction is over.
    After a manual compaction the host prints our text, and repeats it with the command of the hook in every later request, so it is short
    then."""
    rules = site.rules()
    made = _state_of(site, transcript_path)
    if made is None or not (rules.compaction_advise or rules.compaction_index):
        return None
    state = made.state
    verbatim = [result for result in _held(state) if result.kind in _VERBATIM]
    texts, rows = _contents(site, transcript_path, made, {result.id for result in verbatim}, rules.compaction_index)
    advice = ""
    if rules.compaction_advise:
        pinned = [(result.label, "") for result in _held(state) if result.pinned]
        keep = [(result.label, texts.get(result.id) or result.verdict or result.label) for result in verbatim]
        dead = [(result.label, result.ended[0]) for result in reversed(state.expired.values()) if result.ended and result.kind != kinds.ACK]
        advice = compaction_text.advice(dead, [*pinned, *keep], compaction_text.MANUAL_TOKENS if manual else compaction_text.ADVICE_TOKENS)
    echo = advice + _command_of_hook(site) if manual else ""
    site.remember(index=compaction_text.index(rows) or None, echo_tokens=estimate_tokens(echo) or None)
    _book(site, estimate_tokens(advice), now)
    return advice or None


def was_advised(site: Site, now: float) -> bool:
    """Return whether this compaction's summariser has been told already, through the code inside the client; it is taken to be the next
    one."""
    at = site.session.get("advised")
    if at is not None:
        site.remember(advised=None)
    return at is not None and 0 <= now - at < _ADVISED_S


def after(site: Site, now: float) -> str | None:
    """Return the index for the conversation that goes on, once."""
    rows = catch_up(site, site.session.get("transcript") or "")
    index, echoed = compaction_text.index(rows) or site.session.get("index"), site.session.get("echo_tokens") or 0
    if index is None and not echoed:
        return None
    site.remember(index=None, echo_tokens=None)
    _book(site, estimate_tokens(index or "") + echoed, now)
    return index


def _state_of(site: Site, transcript_path: str) -> Rebuilt | None:
    try:
        if os.stat(transcript_path).st_size <= live.REBUILD_BYTES:
            return live.reconcile(site, transcript_path)  # it waits for lines that the host writes late
    except (OSError, ValueError):
        pass  # no transcript: there is nothing to say
    return None


def _held(state: ContextState) -> list[Result]:
    """Return what must outlive the summary, newest first."""
    return [result for result in reversed(state.live.values()) if result.pinned or result.tier == "preserved"]


def _contents(site: Site, transcript_path: str, made: Rebuilt, verbatim: set[str], archived: bool) -> tuple[dict[str, str], list[_Row]]:
    """Return (id -> text of the results that must survive word for word, rows of the index), what the context holds archived on the way."""
    state = made.state
    known = {**state.expired, **state.live}
    texts: dict[str, str] = {}
    records: list[archive.NewRecord] = []
    try:
        for place, content in places.contents(transcript_path, made.index, known.__contains__, made.index.since):
            result = known[place.id]
            if place.id in verbatim:
                texts[place.id] = archive.text_of(content)
            tokens = round(result.tokens * state.calibration)
            if archived and tokens >= _LEAST_TOKENS and not result.cleared and result.kind != kinds.ACK:
                stamp = places.stamp_of(result.at)
                records.append(archive.NewRecord(place.id, result.kind, result.label, content, stamp, result.subjects, tokens))
    except (Refused, OSError):
        return texts, []
    return texts, _archived(site, transcript_path, records, _worth(state, {record.tool_use_id for record in records})) if archived else []


def _archived(site: Site, transcript_path: str, records: list[archive.NewRecord], worth: list[list[Any]]) -> list[_Row]:
    """Return rows of the index, once the records are in the archive; none where that is locked: then the journal has what is left to do."""
    note = site.paths().unarchived
    failures: tuple[type[Exception], ...] = (Refused, *errors())
    try:
        with Opened(site.home, create=True) as db:
            added = archive.add_records(db, chain_of(site, transcript_path), records)
    except failures:
        todo = [[record.tool_use_id, record.type, record.label, record.timestamp, record.subjects, record.tokens] for record in records]
        files.replace_text(note, dumps({"records": todo, "worth": worth}))
        return []
    if disk.stamp(note):
        os.unlink(note)
    handles = dict(zip((record.tool_use_id for record in records), added.ids))
    return [(cleared or handles[id], label, tokens) for id, cleared, label, tokens in worth if cleared or id in handles]


def catch_up(site: Site, transcript_path: str) -> list[_Row]:
    """Archive what was folded away while the archive was locked: it stands in the transcript still. The rows of its index, [] for none."""
    try:
        noted: Any = loads(files.read_text(site.paths().unarchived) or "{}")
        todo = {row[0]: row for row in noted.get("records", ())}
        if not todo:
            return []
        index = transcript.index(transcript_path)
        records = [
            archive.NewRecord(id, kind, label, content, stamp, subjects, tokens)
            for place, content in places.contents(transcript_path, index, todo.__contains__)
            for id, kind, label, stamp, subjects, tokens in [todo[place.id]]
        ]
    except (Refused, OSError, ValueError, TypeError, AttributeError):
        return []
    return _archived(site, transcript_path, records, noted["worth"])


def _worth(state: ContextState, wanted: set[str]) -> list[list[Any]]:
    """Return (id, handle, label, tokens), what is worth most first: what is pinned, what lives and was used last, what expired or was
    cleared."""
    results = [result for result in (*state.live.values(), *state.expired.values()) if result.cleared or result.id in wanted]
    results.sort(key=lambda result: (not result.pinned, result.ended is not None, state.quiet_age(result)))
    return [[result.id, result.cleared, result.label, round(result.tokens * state.calibration)] for result in results]


def _command_of_hook(site: Site) -> str:
    """Return the command line that hooks.json gives for PreCompact: the host prints it into the conversation."""
    from ..io import home

    try:
        registered: Any = loads(files.read_text(home.plugin_root() + "/hooks/hooks.json") or "{}")
        return registered["hooks"]["PreCompact"][0]["hooks"][0]["command"]
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _book(site: Site, tokens: int, now: float) -> None:
    if tokens:
        store.journal(site.paths(), journal.advised(tokens, now))
