"""The compaction partner: tells the summariser what is dead and what must survive, archives what the summary folds away, and gives back
an index of it afterwards. What it adds to the conversation is booked."""

from __future__ import annotations

from .. import archive
from ..policy.estimate import estimate_tokens
from ..state import live, store
from ..state.archived import errors
from . import compaction, places
from .access import Opened, Refused, chain_of

# Contents of fewer tokens are not worth a line of the index, nor a record.
_LEAST_TOKENS = 100
# Kinds of results that must survive a summary word for word.
_VERBATIM = ("error", "decision")


def before(site, transcript_path: str, now: float, manual: bool) -> str | None:
    """What the summariser is told. Archives what the context holds, and remembers the index of it until the compaction is over.

    After a compaction by hand the host repeats our text, and the command of the hook, in every later request.
    """
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
        dead = [(result.label, result.ended[0]) for result in reversed(state.expired.values()) if result.ended and result.kind != "ack"]
        advice = compaction.advice(dead, [*pinned, *keep])
    echo = advice + _command_of_hook(site) if manual else ""
    site.remember(index=compaction.index(rows) or None, echo_tokens=estimate_tokens(echo) or None)
    _book(site, estimate_tokens(advice), now)
    return advice or None


def after(site, now: float) -> str | None:
    """The index for the conversation that goes on, once."""
    index, echoed = site.session.get("index"), site.session.get("echo_tokens") or 0
    if index is None and not echoed:
        return None
    site.remember(index=None, echo_tokens=None)
    _book(site, estimate_tokens(index or "") + echoed, now)
    return index


def _state_of(site, transcript_path: str):
    import os

    try:
        if os.path.getsize(transcript_path) <= live.REBUILD_BYTES:
            return live.reconcile(site, transcript_path)  # it waits for lines that the host writes late
    except (OSError, ValueError):
        pass  # no transcript: there is nothing to say
    return None


def _held(state) -> list:
    """What must outlive the summary, newest first."""
    return [result for result in reversed(state.live.values()) if result.pinned or result.tier == "preserved"]


def _contents(site, transcript_path: str, made, verbatim: set, archived: bool) -> tuple:
    """(id -> text of the results that must survive word for word, rows of the index), what the context holds archived on the way."""
    state = made.state
    known = {**state.expired, **state.live}
    texts: dict = {}
    standing: list = []

    def records():
        for place, content in places.contents(transcript_path, made.index, known.__contains__, made.index.since):
            result = known[place.id]
            if place.id in verbatim:
                texts[place.id] = archive.text_of(content)
            tokens = round(result.tokens * state.calibration)
            if tokens >= _LEAST_TOKENS and not result.cleared and result.kind != "ack":
                standing.append(result)
                stamp = places.stamp_of(result.at)
                yield archive.NewRecord(place.id, result.kind, result.label, content, stamp, result.subjects, tokens)

    try:
        if not archived:
            list(records())
            return texts, []
        with Opened(site.home, create=True) as db:
            added = archive.add_records(db, chain_of(site, transcript_path), records())
        return texts, _rows(state, dict(zip((result.id for result in standing), added.ids)))
    except (Refused, OSError, *errors()):
        return texts, []  # without an archive there is nothing to restore


def _rows(state, handles: dict) -> list:
    """(handle, label, tokens), what is worth most first: what is pinned, what lives and was used last, what expired or was cleared."""
    results = [result for result in (*state.live.values(), *state.expired.values()) if result.cleared or result.id in handles]
    results.sort(key=lambda result: (not result.pinned, result.ended is not None, state.quiet_age(result)))
    return [(result.cleared or handles[result.id], result.label, round(result.tokens * state.calibration)) for result in results]


def _command_of_hook(site) -> str:
    """The command line that hooks.json gives for PreCompact: the host prints it into the conversation."""
    import json
    import os

    from ..edges import home

    try:
        with open(os.path.join(home.plugin_root(), "hooks", "hooks.json"), encoding="utf-8") as file:
            return json.load(file)["hooks"]["PreCompact"][0]["hooks"][0]["command"]
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _book(site, tokens: int, now: float) -> None:
    if tokens:
        paths = site.paths()
        with paths.locked():
            store.journal(paths, {"event": "advice", "at": now, "tokens": tokens})
