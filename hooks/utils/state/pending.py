"""Note what hooks see while another process holds the lock of a context. The next process with the lock takes it in.

Of a call no more is kept than of any result: its input cut down to what identifies it, secrets masked; of the output of a run or an error
one line.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import as_object, dumps, loads, seconds
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

_KEPT = ("chars", "content_hash", "error", "exit_code", "fate", "image_tokens", "interval", "lines", "unchanged", "wide")


class Observation:
    """The observation of a hook while another process held the lock, as the `file` of its note has it: lines for the journal, when the user
    spoke (seconds; 0.0 where not), the row of a call, path -> stamp of a file at that time."""

    __slots__ = ("call", "entries", "file", "prompted", "seen")

    def __init__(self, file: str, entries: list[Any], prompted: float, call: object, seen: dict[str, object]):
        self.file = file
        self.entries = entries
        self.prompted = prompted
        self.call = call
        self.seen = seen


def note(paths: store.ContextFiles, call: Call | None = None, prompted: float = 0.0, entries: Sequence[Entry] = ()) -> None:
    """Keep an observation of a hook: a call, the user's message (seconds), entries for the journal."""
    row: dict[str, Any] = {"prompted": prompted, "entries": list(entries)}
    if call is not None:
        seen = watched_files.file_stamp(call.path) if call.operation in READS | EDITS else None
        row.update(call=_row_of(call), seen={call.path: seen} if seen else {})
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


def observations(paths: store.ContextFiles) -> list[Observation]:
    """Return the observation of each pending note, in order; a note that cannot be read is removed."""
    waiting = []
    for path in files.spilled(paths.state):
        observation = _observation_in(path)
        if observation is not None:
            waiting.append(observation)
        else:
            files.remove(path)
    return waiting


def _observation_in(path: str) -> Observation | None:
    try:
        value = as_object(loads(files.read_text(path) or "null"))
    except ValueError:
        return None
    if not isinstance(value.get("entries"), list):
        return None
    prompted = seconds(value.get("prompted")) or 0.0
    return Observation(path, value["entries"], prompted, value.get("call"), as_object(value.get("seen")))


def entries(waiting: list[Observation]) -> list[Entry]:
    """Return the entries of observations that belong in the journal."""
    from .journal import entries_of

    return entries_of(line for observation in waiting for line in observation.entries)


def settle(
    paths: store.ContextFiles, stored: store.StoredState, waiting: list[Observation], known: Collection[str], tools: Tools
) -> list[str]:
    """Journal what belongs there of the observations whose call a rebuild knows from the transcript; return the files to remove once the
    state is saved. The caller holds the lock."""
    done = []
    for observation in waiting:
        call = _call_of(observation.call, tools)
        if call is None or call.id in known:
            _journal(paths, observation)
            _note_seen(stored, observation)
            done.append(observation.file)
    return done


def take_in(paths: store.ContextFiles, stored: store.StoredState, rules: Ruleset, observe: Callable[[Call], object]) -> list[str]:
    """Let the state follow all that is pending; `observe(call)` takes a call in. Return the files to remove once the state is saved. The
    caller holds the lock."""
    from ..policy import engine, events
    from .journal import entries_of, event_of

    done = []
    for observation in observations(paths):
        for event in map(event_of, entries_of(observation.entries)):
            if event is not None:
                engine.observe(stored.state, event, rules)
        _journal(paths, observation)
        if observation.prompted:
            engine.observe(stored.state, events.Prompted(observation.prompted), rules)
        call = _call_of(observation.call, rules.tools)
        if call is not None and call.id not in stored.state.live:
            observe(call)
            _note_seen(stored, observation)
        done.append(observation.file)
    return done


def _journal(paths: store.ContextFiles, observation: Observation) -> None:
    for line in observation.entries:
        store.journal(paths, line)


def _note_seen(stored: store.StoredState, observation: Observation) -> None:
    """Note the file as it was when the call read it: what has happened to it since is seen like any other change."""
    for path, stamp in observation.seen.items():
        stored.watched.see(path, stamp)


def remove(paths: list[str]) -> None:
    """Remove the files of notes that were taken in."""
    for path in paths:
        files.remove(path)
