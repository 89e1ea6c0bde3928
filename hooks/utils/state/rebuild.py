"""transcript + journal -> state: what hooks would have, had every one of them fired.

The transcript's times and the order of its lines win. The journal gives what it lacks: pins, profiles, session ends, files changed on
disk, git's answers, what was cleared and restored. An entry that names a call stands right before that call; any other goes by its time.
"""

from __future__ import annotations

from ..host import responses, transcript, usage
from ..policy import engine, events, selection
from ..policy.context import ContextState, Result
from ..policy.estimate import estimate_tokens
from . import booking

# The year 5138: a later time in a journal is none.
_LATEST = 1e11
_REASON_CHARS = 200


class Rebuilt:
    """A rebuilt state with what was seen on the way: `index` of the transcript, `requests` of the main chain, `prefixes`: id of a
    result -> tokens of the prompt that stand before it, `unsent`: estimated tokens that the conversation grew by since the last request,
    `unseen`: ids of the results among them. The ledger is in the state's counts."""

    __slots__ = ("index", "prefixes", "requests", "state", "unseen", "unsent")

    def __init__(self, state, index, requests, prefixes, unsent, unseen):
        self.state = state
        self.index = index
        self.requests = requests  # [(Usage, estimated tokens that the conversation grew by since the request before)]
        self.prefixes = prefixes
        self.unsent = unsent
        self.unseen = unseen


def rebuild(path: str, journal: list, rules_for, session_id: str = "", agent_id: str = "", original=None) -> Rebuilt:
    """The state of a context, from its transcript file and journal entries; `rules_for(profile)` compiles the rules, `original(handle)`
    gives what a placeholder stands for. OSError when the transcript cannot be read."""
    index = transcript.index(path)
    replay = _Replay(ContextState(session_id, agent_id), rules_for, booking.clear_times(journal))
    reader = transcript.Reader(index, original)
    requests = _Requests(index.chain, replay.state)
    anchored, timed, commits = _sorted_journal(journal, index.calls & index.result_ids)
    timed.reverse()  # taken from the end
    for entry in transcript.entries(path, index.size, index.telling):
        if not agent_id and not replay.state.cwd and replay.state.index == 0 and isinstance(entry.get("cwd"), str):
            replay.state.cwd = entry["cwd"]
        for event in reader.events(entry):
            while timed and timed[-1].at <= event.at:
                replay.observe(timed.pop())
            if isinstance(event, events.Call):
                for before in anchored.get(event.id, ()):
                    replay.observe(before)
                if event.id in commits:
                    event.committed = commits[event.id]
            replay.observe(event)
            if isinstance(event, events.Call) and event.id in reader.cleared and event.id in replay.state.live:
                replay.state.live[event.id].cleared = reader.cleared[event.id]
        requests.see(entry)
    for event in reversed(timed):
        replay.observe(event)
    if reader.cleared:
        replay.observe(events.Cleared(reader.cleared))
    factor = usage.calibration([(request.tokens, added) for request, added in requests.rows])
    if factor is not None:
        replay.state.calibration = factor
    again = replay.fetched_again(reader.cleared)
    replay.state.counts.ledger = booking.settled(requests.rows, journal, reader.cleared, again, replay.printed)
    return Rebuilt(replay.state, index, requests.rows, replay.moved(requests.prefixes), requests.unsent, requests.unseen)


class _Replay:
    """An engine with its rules, which a chosen profile changes on the way."""

    __slots__ = ("_clear_times", "_shown", "printed", "rules", "rules_for", "state")

    def __init__(self, state: ContextState, rules_for, clear_times: dict):
        self._shown: dict = {}
        self._clear_times = clear_times
        self.printed: list = []  # (seconds, tokens) of what `popkit restore` printed
        self.state = state
        self.rules_for = rules_for
        self.rules = rules_for(None)
        engine.reindex(state, self.rules)

    def observe(self, event) -> None:
        if isinstance(event, events.ProfileChosen):
            self.rules = self.rules_for(event.profile)
        engine.observe(self.state, event, self.rules)
        if self._clear_times and isinstance(event, events.Call) and event.id in self.state.live:
            self._note(self.state.live[event.id])

    def _note(self, result: Result) -> None:
        """Remembers by what a later call would fetch the same again: the content, or the file that a read shows."""
        if result.kind == "restored":
            self.printed.append((result.at, result.tokens))
        elif result.kind != "ack" and not result.error:
            for name in (result.kind + "|" + result.hash, *(part[0] for part in result.parts if part[0].startswith("read:"))):
                self._shown.setdefault(name, []).append((result.id, result.at, result.tokens))

    def fetched_again(self, cleared: dict) -> list:
        """[(seconds, tokens)] of the results that show again what one of the cleared had shown, each once and only after that clear."""
        again: dict = {}
        for shown in self._shown.values():
            gone = [(self._clear_times[id], tokens) for id, _, tokens in shown if id in cleared and id in self._clear_times]
            for id, at, tokens in shown:
                sizes = [size for since, size in gone if at > since]
                if sizes and id not in cleared:
                    again[id] = (at, min(tokens, max(sizes)))
        return sorted(again.values())

    def moved(self, prefixes: dict) -> dict:
        """Where results stand now: `prefixes` were measured when they came, with what was cleared since still before them."""
        known = sorted((*self.state.expired.values(), *self.state.live.values()), key=lambda result: result.index)
        moved = dict(prefixes)
        for at in sorted({self._clear_times[result.id] for result in known if result.cleared and result.id in self._clear_times}):
            left = 0
            for result in known:
                if result.id in moved and result.at < at:
                    moved[result.id] = max(0, moved[result.id] - left)
                if result.cleared and self._clear_times.get(result.id) == at:
                    left += selection.gain(result, self.state.calibration, self.rules)
        return moved


def _sorted_journal(journal: list, known: set) -> tuple:
    """(call id -> events right before it, events by time, call id -> files of its commit)."""
    anchored: dict = {}
    timed = []
    commits = {}
    for entry in journal:
        if not isinstance(entry, dict):
            continue
        event = event_of(entry)
        call = entry.get("call")
        if entry.get("event") == "commit" and isinstance(call, str):
            names = entry.get("files")
            commits[call] = [name for name in names if isinstance(name, str)] if isinstance(names, list) else None
        elif event is not None and isinstance(call, str) and call in known:
            anchored.setdefault(call, []).append(event)
        elif event is not None:
            timed.append(event)
    timed.sort(key=lambda event: event.at)
    return anchored, timed, commits


def event_of(entry: dict):
    """The event that a journal entry tells of; None for one that is not understood."""
    at = entry.get("at")
    at = at if isinstance(at, (int, float)) and abs(at) < _LATEST else 0.0
    kind, target = entry.get("event"), entry.get("target")
    if kind == "pin" and isinstance(target, str):
        return events.Pinned(target, at)
    if kind == "unpin" and isinstance(target, str):
        return events.Unpinned(target, at)
    if kind == "profile" and (target is None or isinstance(target, str)):
        return events.ProfileChosen(target, at)
    if kind == "end":
        return events.SessionEnded(at, str(entry.get("why") or ""))
    if kind == "changed" and isinstance(entry.get("changes"), dict):
        return events.FilesChanged({str(path): str(how) for path, how in entry["changes"].items()}, at)
    if kind == "clear" and isinstance(entry.get("ids"), list):
        reasons = entry.get("reasons") if isinstance(entry.get("reasons"), dict) else {}
        said = {id: text[:_REASON_CHARS] for id, text in reasons.items() if isinstance(text, str)}
        return events.ManualClear([id for id in entry["ids"] if isinstance(id, str)], at, said)
    if kind == "undo" and isinstance(entry.get("ids"), list):
        return events.Undone([id for id in entry["ids"] if isinstance(id, str)], at)
    if kind == "restore" and isinstance(entry.get("id"), str):
        return events.Restored(entry["id"], entry.get("in_place") is True, at)
    return None


class _Requests:
    """The requests of the main chain as its entries come: `rows` of (Usage, estimated tokens added since the request before), one per
    message, and (Usage(), 0) for a compaction."""

    __slots__ = ("_chain", "_message", "_state", "prefixes", "rows", "unseen", "unsent")

    def __init__(self, chain: set, state: ContextState):
        self._chain = chain
        self._state = state
        self.unsent = 0
        self.unseen: set = set()
        self._message = None
        self.rows: list = []
        self.prefixes: dict = {}

    def see(self, entry: dict) -> None:
        """Takes an entry in, after the engine has taken in what it tells of."""
        if entry.get("type") == "user":
            for block in transcript.blocks_of(entry):
                result = self._state.live.get(block.get("tool_use_id"))
                if result is not None:
                    self.unsent += result.tokens
                    self.unseen.add(result.id)
                    self.prefixes.setdefault(result.id, self.rows[-1][0].tokens if self.rows else 0)
            return
        if entry.get("uuid") not in self._chain:
            return
        if entry.get("subtype") == "compact_boundary":
            self.rows.append((usage.Usage(at=transcript.seconds_of(entry.get("timestamp"))), 0))
            known = (self._state.live, self._state.expired)
            self.prefixes = {id: tokens for id, tokens in self.prefixes.items() if any(id in results for results in known)}
        found = usage.usage_of(entry)
        if found is not None:
            message = entry["message"].get("id")
            if message != self._message:
                self.rows.append((found, self.unsent))
                self.unsent, self.unseen, self._message = 0, set(), message
            self.unsent += _written_tokens(entry)


def _written_tokens(entry: dict) -> int:
    total = 0
    for block in transcript.blocks_of(entry):
        if isinstance(block.get("text"), str):
            total += estimate_tokens(block["text"])
        elif block.get("type") == "tool_use":
            total += estimate_tokens(responses.dumps_or_nothing(block.get("input")), "markup")
    return total
