"""What all contexts of a session share: the profile that the user chose, the model, the window, which thresholds were told."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "session.json"
_FACTS = {
    "advised": float,
    "compacted": bool,
    "compacted_tokens": int,
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
    "told": str,
    "transcript": str,
    "trials": dict,
    "warm": str,
    "warming": dict,
    "window_tokens": int,
}


def path_of(popkit_home: str, session_id: str) -> str:
    return join(home.session_folder(popkit_home, session_id), _NAME)


def read(popkit_home: str, session_id: str) -> dict[str, Any]:
    """The facts of a session; empty when nothing (readable) is known."""
    path = path_of(popkit_home, session_id)
    try:
        return _known(path, files.spilled(path))
    except OSError:
        return {}


def _known(path: str, spilled: list[str]) -> dict[str, Any]:
    """The facts of a file, and what was spilled since."""
    facts: dict[str, Any] = {}
    for name in (path, *spilled):
        try:
            value = loads(files.read_text(name) or "{}")
        except (OSError, ValueError):
            continue
        facts.update({name: fact for name, fact in value.items() if _is_fact(name, fact)} if isinstance(value, dict) else {})
    return {name: fact for name, fact in facts.items() if fact is not None}


def _is_fact(name: str, fact: object) -> bool:
    return name in _FACTS and (fact is None or type(fact) is _FACTS[name])


def update(popkit_home: str, session_id: str, **facts: object) -> dict[str, Any]:
    """Sets facts (None removes one) and returns all; writes only when something has changed. Two processes at once lose no fact, and what
    cannot be written in time is written by the next that can."""
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
    """Sets a fact that is not set; whether it was not. Of two processes at once one alone hears yes; none where somebody else holds the
    lock for too long."""
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
