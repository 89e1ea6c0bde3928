"""Stored sessions: the facts that all contexts of one share (the profile that the user chose, the model, the window, which threshold was
announced last), and its contexts, read without a lock and left as they are."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os
from ..policy.context import ContextState, reclaimable, state_of
from ..policy.parts import is_of_lines
from . import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NAME = "session.json"
_FACTS = {
    "advised": float,
    "compacted": bool,
    "compacted_tokens": int,
    "compaction": dict,
    "compacts_at": dict,
    "echo_tokens": int,
    "hinted": float,
    "in_place": float,
    "index": str,
    "kept_out_told": float,
    "largest_tokens": int,
    "memory": float,
    "model": str,
    "planned": dict,
    "profile": str,
    "project": str,
    "stands": dict,
    "told": str,
    "transcript": str,
    "window_tokens": int,
}


def path_of(popkit_home: str, session_id: str) -> str:
    return join(home.session_folder(popkit_home, session_id), _NAME)


def read(popkit_home: str, session_id: str) -> dict[str, Any]:
    """Return the facts of a session; empty when nothing (readable) is known."""
    path = path_of(popkit_home, session_id)
    return _known(path, files.spilled(path))


def _known(path: str, spilled: list[str]) -> dict[str, Any]:
    """Return the facts of a file and of the spilled files since."""
    facts: dict[str, Any] = {}
    for name in (path, *spilled):
        facts.update({name: fact for name, fact in files.read_object(name).items() if _is_fact(name, fact)})
    return {name: fact for name, fact in facts.items() if fact is not None}


def _is_fact(name: str, fact: object) -> bool:
    return name in _FACTS and (fact is None or type(fact) is _FACTS[name])


def update(popkit_home: str, session_id: str, **facts: object) -> dict[str, Any]:
    """Set facts (None removes one) and return all; write only when something has changed. Two processes at once lose no fact, and what
    cannot be written in time is written by the next process that can."""
    path = path_of(popkit_home, session_id)
    files.make_private_folder(home.session_folder(popkit_home, session_id), may_be_link=False)
    try:
        with files.Lock(path + ".lock"):
            spilled = files.spilled(path)
            known = _known(path, spilled)
            changed = {name: value for name, value in {**known, **facts}.items() if value is not None}
            if spilled or changed != known:
                files.replace_text(path, dumps(changed))
            for name in spilled:
                os.unlink(name)
    except files.LockTimeout:
        files.spill(path, dumps(facts))
        changed = read(popkit_home, session_id)
    return changed


def claim(popkit_home: str, session_id: str, name: str, value: object) -> bool:
    """Set a fact that is not set yet; return whether this process did. Of two processes at once only one does; neither where another holds
    the lock for too long."""
    path = path_of(popkit_home, session_id)
    files.make_private_folder(home.session_folder(popkit_home, session_id), may_be_link=False)
    try:
        with files.Lock(path + ".lock"):
            known = _known(path, files.spilled(path))
            if name in known:
                return False
            files.replace_text(path, dumps({**known, name: value}))
    except files.LockTimeout:
        return False
    return True


def stored_state(paths: store.ContextFiles) -> ContextState | None:
    """Return the stored state; None when there is none. ValueError when it is corrupt, OSError when it cannot be read."""
    text = files.read_text(paths.state)
    if text is None:
        return None
    value = loads(text)
    if isinstance(value, dict):
        value.pop("watched", None)
    try:
        return state_of(value)
    except TypeError as error:
        raise ValueError(str(error)) from None


def expired_of(paths: store.ContextFiles, known: ContextState) -> dict[str, int]:
    """Return {`items`, `tokens`} of the expired results in the context, by the session's calibration."""
    dead = reclaimable(store.read_expired(paths, known)).values()
    return {"items": len(dead), "tokens": sum(round(result.tokens * known.calibration) for result in dead)}


def contexts(popkit_home: str) -> list[tuple[store.ContextFiles, float]]:
    """Return (context, when its state was written in seconds) of every stored context, newest first. A session is named by its folder,
    which is its id if that is a safe name."""
    every = [paths for session_id in folders(popkit_home) for paths in contexts_of(popkit_home, session_id)]
    stamped = [(paths, store.file_stamp(paths.state)) for paths in every]  # None for one that was swept away meanwhile
    return sorted([(paths, stamp[0] / 1e9) for paths, stamp in stamped if stamp], key=lambda context: context[1], reverse=True)


def contexts_of_project(popkit_home: str, project: str) -> Iterator[store.ContextFiles]:
    """Yield the stored contexts of the sessions of a project, or of a folder above it, newest first."""
    for paths, _ in contexts(popkit_home):
        begun_in = read(popkit_home, paths.session_id).get("project")
        if begun_in and _lies_in(project, begun_in):
            yield paths


def _lies_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or below it."""
    from os.path import realpath

    path, folder = realpath(path), realpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def contexts_of(popkit_home: str, session_id: str) -> list[store.ContextFiles]:
    """Return the stored contexts of a session."""
    contexts = []
    for name in files.names(home.session_folder(popkit_home, session_id)):
        stem, _, rest = name.partition(".")
        if rest == "state.json" and (stem == "main" or stem.startswith("agent-")):
            contexts.append(store.ContextFiles(popkit_home, session_id, stem[len("agent-") :] if stem != "main" else ""))
    return contexts


def folders(popkit_home: str) -> list[str]:
    """Return the names of the folders of all stored sessions."""
    return files.names(join(popkit_home, "sessions"))


def _is_amount(value: object) -> bool:
    """Return whether a value is a finite number; those of a ledger have a fraction."""
    return type(value) is int or (type(value) is float and value - value == 0)


def is_sound(text: str | None) -> bool:
    """Return whether every value of a state is of its type; `load` checks only what it must. True where there is no state."""
    if text is None:
        return True
    try:
        state = store.stored_of(text).state
    except (ValueError, TypeError):
        return False
    live = list(state.live.values())
    numbers = [state.at, state.calibration, *(result.at for result in live)]
    tables = [table for table in state.counts.to_json().values() if isinstance(table, dict)]
    texts = [state.recent.values(), *((result.tool, result.label, result.hash, result.verdict, *result.subjects) for result in live)]
    return (
        all(number - number == 0 for number in numbers)  # not infinite, which JSON has no form for
        and all(_is_amount(amount) for table in tables for amount in table.values())
        and all(isinstance(value, str) for values in texts for value in values)
        and all(_is_part(part) for result in live for part in result.parts)
    )


def _is_part(part: object) -> bool:
    if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], str) or not isinstance(part[1], list):
        return False
    kind = int if is_of_lines(part) else str
    return all(isinstance(item, kind) for item in part[1]) and (kind is str or len(part[1]) == 2)
