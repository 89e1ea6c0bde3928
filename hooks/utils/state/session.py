"""Keep the facts that all contexts of a session share: the profile that the user chose, the model, the window, which threshold was
announced last."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps
from ..io.system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        with files.lock_of(path):
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
        with files.lock_of(path):
            known = _known(path, files.spilled(path))
            if name in known:
                return False
            files.replace_text(path, dumps({**known, name: value}))
    except files.LockTimeout:
        return False
    return True
