"""What all contexts of a session share: the profile that the user chose, the model, the window, which thresholds were told."""

from __future__ import annotations

from ..edges import files, home
from ..edges.codec import dumps, loads
from ..edges.system import join

_NAME = "session.json"
_FACTS = {
    "compacted": bool,
    "echo_tokens": int,
    "index": str,
    "largest_tokens": int,
    "model": str,
    "profile": str,
    "project": str,
    "told": str,
    "transcript": str,
    "window_tokens": int,
}


def path_of(popkit_home: str, session_id: str) -> str:
    return join(home.session_folder(popkit_home, session_id), _NAME)


def read(popkit_home: str, session_id: str) -> dict:
    """The facts of a session; empty when nothing (readable) is known."""
    try:
        value = loads(files.read_text(path_of(popkit_home, session_id)) or "{}")
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {name: fact for name, fact in value.items() if type(fact) is _FACTS.get(name)}


def update(popkit_home: str, session_id: str, **facts) -> dict:
    """Sets facts (None removes one) and returns all; writes only when something has changed. Two processes at once lose no fact."""
    path = path_of(popkit_home, session_id)
    files.make_private_folder(home.session_folder(popkit_home, session_id))
    with files.Lock(path + ".lock"):
        known = read(popkit_home, session_id)
        changed = {name: value for name, value in {**known, **facts}.items() if value is not None}
        if changed != known:
            files.replace_text(path, dumps(changed))
    return changed
