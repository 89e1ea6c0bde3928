"""Read the stored contexts of sessions without locking them."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import loads
from ..io.system import join
from ..policy.context import ContextState, reclaimable, state_of
from . import session, store, watched_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..policy.shapes import Sums


def stored_state(paths: store.ContextFiles) -> ContextState | None:
    """Return the stored state; None when there is none. ValueError when it is corrupt, OSError when it cannot be read."""
    text = files.read_text(paths.state)
    return None if text is None else state_of(loads(text))


def expired_of(paths: store.ContextFiles, known: ContextState) -> Sums:
    """Return the expired results in the context, by the session's calibration."""
    dead = reclaimable(store.read_expired(paths, known)).values()
    return {"items": len(dead), "tokens": sum(round(result.tokens * known.calibration) for result in dead)}


def contexts(popkit_home: str) -> list[tuple[store.ContextFiles, float]]:
    """Return (context, when its state was written in seconds) of every stored context, newest first. A session is named by its folder,
    which is its id if that is a safe name."""
    every = [paths for session_id in folders(popkit_home) for paths in contexts_of(popkit_home, session_id)]
    stamped = [(paths, watched_files.file_stamp(paths.state)) for paths in every]  # None for one that was swept away meanwhile
    return sorted([(paths, stamp[0] / 1e9) for paths, stamp in stamped if stamp], key=lambda context: context[1], reverse=True)


def contexts_of_project(popkit_home: str, project: str) -> Iterator[store.ContextFiles]:
    """Yield the stored contexts of the sessions of a project, or of a folder above it, newest first."""
    for paths, _ in contexts(popkit_home):
        begun_in = session.read(popkit_home, paths.session_id).project
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
            contexts.append(store.ContextFiles(popkit_home, session_id, stem[len("agent-") :]))  # "main" is shorter
    return contexts


def folders(popkit_home: str) -> list[str]:
    """Return the names of the folders of all stored sessions."""
    return files.names(join(popkit_home, "sessions"))
