"""Note what hooks see while another process holds the lock of a context. The next process with the lock takes it in.

Of a call no more is kept than of any result: its input cut down to what identifies it, secrets masked; of the output of a run or an error
one line.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..policy import kinds
from ..policy.calls import TEXT_CHARS, Call, Outcome, verdict_of
from ..policy.classify import COMMAND_CHARS, MOST_FILES, classify
from ..policy.masking import mask
from ..policy.ruleset import Ruleset
from ..policy.tools import EDITS, EDITS_OF_FILE, READS, Tools
from . import store, watched_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from .journal import Entry

    Waiting = tuple[str, dict[str, Any]]  # a file, and what a hook saw

_KEPT = ("chars", "content_hash", "error", "exit_code", "fate", "image_tokens", "interval", "lines", "unchanged", "wide")


def note(paths: store.ContextFiles, call: Call | None = None, prompted: float = 0.0, entries: Sequence[Entry] = ()) -> None:
    """Keep an observation of a hook: a call, the user's message (seconds), entries for the journal."""
    row: dict[str, Any] = {"prompted": prompted, "entries": list(entries), "call": None}
    if call is not None:
        path = call.path if call.operation in READS | EDITS else ""
        seen = watched_files.file_stamp(path) if path else None
        row.update(call=_row_of(call), seen={path: seen} if seen else {})
    files.make_private_folder(paths.folder, may_be_link=False)
    files.spill(paths.state, dumps(row))


def _row_of(call: Call) -> list[Any]:
    tool = call.traits
    reduced: dict[str, Any] = {}
    asked = [field for role, fields in tool.asks.items() if role != EDITS_OF_FILE for field in fields]
    for field in dict.fromkeys((*tool.paths, tool.line, tool.others, *asked)):
        value = call.tool_input.get(field)
        if isinstance(value, str):
            is_line = field == tool.line
            reduced[field] = value[:TEXT_CHARS] if field in tool.files else mask(value[: COMMAND_CHARS if is_line else TEXT_CHARS])
        elif isinstance(value, int):
            reduced[field] = value
        elif field and field == tool.others and isinstance(value, list):
            reduced[field] = [path[:TEXT_CHARS] for path in value[:MOST_FILES] if isinstance(path, str)]
    outcome = {name: getattr(call.outcome, name) for name in _KEPT}
    classified = classify(call, call.cwd, Ruleset.from_config({}, Tools({}, {})))
    if classified.error or classified.kind == kinds.RUN:
        outcome["tail"] = verdict_of(call.outcome.tail, None)
    return [call.id, call.tool, reduced, outcome, call.at, call.cwd, call.prompt_id, call.committed]


def _call_of(row: Any, tools: Tools) -> Call | None:
    """Return the call of a row, by a host with these tools; None where it has none that is understood."""
    try:
        id, tool, tool_input, outcome, at, cwd, prompt_id, committed = row
        return Call(id, tools.of(tool), tool_input, Outcome(**outcome), at, cwd, prompt_id, committed)
    except (TypeError, ValueError):
        return None


def rows(paths: store.ContextFiles) -> list[Waiting]:
    """Return (file, observation) of each pending note, in order."""
    waiting = []
    for path in files.spilled(paths.state):
        try:
            value = loads(files.read_text(path) or "null")
        except ValueError:
            value = None
        if isinstance(value, dict) and isinstance(value.get("entries"), list):
            waiting.append((path, value))
        else:
            files.remove(path)
    return waiting


def entries(waiting: list[Waiting]) -> list[Entry]:
    """Return the entries of rows that belong in the journal."""
    from .journal import entries_of

    return entries_of(entry for _, row in waiting for entry in row["entries"])


def settle(paths: store.ContextFiles, stored: store.Stored, waiting: list[Waiting], known: Collection[str], tools: Tools) -> list[str]:
    """Journal what belongs there of the rows whose call a rebuild knows from the transcript; return the files to remove once the state is
    saved. The caller holds the lock."""
    done = []
    for path, row in waiting:
        call = _call_of(row.get("call"), tools)
        if call is None or call.id in known:
            for entry in row["entries"]:
                store.journal(paths, entry)
            _note_seen(stored, row)
            done.append(path)
    return done


def take_in(paths: store.ContextFiles, stored: store.Stored, rules: Ruleset, observe: Callable[[Call], object]) -> list[str]:
    """Let the state follow all that is pending; `observe(call)` takes a call in. Return the files to remove once the state is saved. The
    caller holds the lock."""
    from ..policy import engine, events
    from .journal import entries_of, event_of

    done = []
    for path, row in rows(paths):
        for event in map(event_of, entries_of(row["entries"])):
            if event is not None:
                engine.observe(stored.state, event, rules)
        for entry in row["entries"]:
            store.journal(paths, entry)
        if row.get("prompted"):
            engine.observe(stored.state, events.Prompted(row["prompted"]), rules)
        call = _call_of(row.get("call"), rules.tools)
        if call is not None and call.id not in stored.state.live:
            observe(call)
            _note_seen(stored, row)
        done.append(path)
    return done


def _note_seen(stored: store.Stored, row: dict[str, Any]) -> None:
    """Note the file as it was when the call read it: what has happened to it since is seen like any other change."""
    if isinstance(row.get("seen"), dict):
        for path, seen in row["seen"].items():
            stored.watched.see(path, seen)


def remove(paths: list[str]) -> None:
    """Remove the files of notes that were taken in."""
    for path in paths:
        files.remove(path)
