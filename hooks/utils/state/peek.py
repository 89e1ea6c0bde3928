"""A look at stored contexts: reads what is there, takes no lock, changes nothing."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import loads
from ..io.system import join, os
from ..policy.context import ContextState, reclaimable, state_of
from . import session, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def state(paths: store.ContextFiles) -> ContextState | None:
    """The state as it stands; None when there is none. ValueError when it is corrupt, OSError when it cannot be read."""
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


def expired(paths: store.ContextFiles, known: ContextState) -> dict[str, int]:
    """What has expired and stands in the context: {`items`, `tokens`}, by the session's calibration."""
    dead = reclaimable(store.read_expired(paths, known)).values()
    return {"items": len(dead), "tokens": sum(round(result.tokens * known.calibration) for result in dead)}


class Seen:
    """A stored context: whose it is and when its state was written (seconds)."""

    __slots__ = ("paths", "written")

    def __init__(self, paths: store.ContextFiles, written: float):
        self.paths = paths
        self.written = written


def contexts(popkit_home: str) -> list[Seen]:
    """Every stored context, newest first. A session is named by its folder, which is its id where that is a harmless name."""
    found = []
    for session_id in sessions(popkit_home):
        for paths in contexts_of(popkit_home, session_id):
            found += _seen(paths)
    return sorted(found, key=lambda seen: seen.written, reverse=True)


def of_project(popkit_home: str, project: str) -> Iterator[Seen]:
    """Yield the stored contexts of the sessions that a project, or a folder above it, was told of, newest first."""
    for seen in contexts(popkit_home):
        told = session.read(popkit_home, seen.paths.session_id).get("project")
        if told and _lies_in(project, told):
            yield seen


def _lies_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or below it."""
    from os.path import realpath

    path, folder = realpath(path), realpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _seen(paths: store.ContextFiles) -> list[Seen]:
    try:
        return [Seen(paths, os.stat(paths.state).st_mtime)]
    except OSError:
        return []  # it was swept away meanwhile


def contexts_of(popkit_home: str, session_id: str) -> list[store.ContextFiles]:
    """The stored contexts of a session."""
    found = []
    for name in files.names(home.session_folder(popkit_home, session_id)):
        stem, _, rest = name.partition(".")
        if rest == "state.json" and (stem == "main" or stem.startswith("agent-")):
            found.append(store.ContextFiles(popkit_home, session_id, stem[len("agent-") :] if stem != "main" else ""))
    return found


def sessions(popkit_home: str) -> list[str]:
    """Return the names of the folders of all stored sessions."""
    return files.names(join(popkit_home, "sessions"))
