"""What a project has taught about lifetimes: points of each kind, which make it live longer (policy/lifetimes.py)."""

from __future__ import annotations

from ..edges import files, home
from ..edges.codec import dumps, loads
from ..edges.system import join, os
from ..policy.lifetimes import changed, understood

SCHEMA = 1
_MOST_BYTES = 64 * 1024


def path_of(popkit_home: str, project: str) -> str:
    return join(home.project_folder(popkit_home, project), "lifetimes.json")


def read(popkit_home: str, project: str) -> dict:
    """kind -> points; empty where nothing (readable) is known."""
    try:
        value = loads(files.read_text(path_of(popkit_home, project), _MOST_BYTES) or "{}")
    except (OSError, ValueError):
        return {}
    return understood(value.get("points")) if isinstance(value, dict) and value.get("schema") == SCHEMA else {}


def change(popkit_home: str, project: str, by: dict) -> None:
    """Changes the points of kinds by so many each. Two processes at once lose none."""
    path = path_of(popkit_home, project)
    files.make_private_folder(home.project_folder(popkit_home, project))
    with files.Lock(path + ".lock"):
        points = changed(read(popkit_home, project), by)
        files.replace_text(path, dumps({"schema": SCHEMA, "project": project, "points": points}))


def reset(popkit_home: str, project: str) -> bool:
    """Forgets them; whether there were any. OSError when that cannot be done."""
    try:
        os.unlink(path_of(popkit_home, project))
    except FileNotFoundError:
        return False
    return True
