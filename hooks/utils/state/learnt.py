"""Which model of need holds: the one learnt from a project, else the one learnt from all of a user's sessions, else the shipped one.

A learnt file that cannot be used is passed over, never an error: the next model holds, and the trouble says why.
"""

from __future__ import annotations

from ..edges import codec, files, home
from ..edges.system import join, os
from ..policy.need import model_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.need import NeedModel

NAME = "need-model.json"
PROJECT, USER, SHIPPED = "project", "user", "shipped"
MOST_BYTES = 64 * 1024


class Known:
    """A NeedModel, whose it is (`source`), what its file says of how it was learnt (`about`), and why a nearer one cannot be used
    (`trouble`, "" where there is none)."""

    __slots__ = ("about", "model", "source", "trouble")

    def __init__(self, model: NeedModel, source: str, about: dict[str, Any], trouble: str = ""):
        self.model = model
        self.source = source
        self.about = about
        self.trouble = trouble


def model_path(popkit_home: str, project: str = "") -> str:
    """Where the model learnt from a project is, or, without one, that of the user."""
    return join(home.project_folder(popkit_home, project) if project else popkit_home, NAME)


def load(popkit_home: str, project: str = "") -> Known:
    """The nearest model that can be used."""
    troubles: list[str] = []
    known = _usable(model_path(popkit_home, project), PROJECT, troubles) if project else None
    known = known or _usable(model_path(popkit_home), USER, troubles) or shipped()
    known.trouble = "; ".join(troubles)
    return known


def shipped() -> Known:
    """The model that comes with the plugin; an error where it cannot be read, for then the plugin is broken."""
    path = join(home.plugin_root(), "hooks", "utils", "data", NAME)
    known = _read(path, SHIPPED)
    if known is None:
        raise FileNotFoundError(2, "not there", path)
    return known


def remove(popkit_home: str, project: str = "") -> bool:
    """Removes a learnt model; whether there was one. OSError when it cannot be removed."""
    try:
        os.unlink(model_path(popkit_home, project))
    except FileNotFoundError:
        return False
    return True


def _usable(path: str, source: str, troubles: list[str]) -> Known | None:
    try:
        return _read(path, source)
    except (OSError, ValueError) as error:
        troubles.append(f"{path}: {(isinstance(error, OSError) and error.strerror) or error}")
        return None


def _read(path: str, source: str) -> Known | None:
    """The model in a file, None where there is no file; OSError or ValueError for one that cannot be used."""
    text = files.read_text(path, MOST_BYTES + 1)
    if text is None:
        return None
    if len(text) > MOST_BYTES:
        raise ValueError("larger than 64 KB")
    try:
        value = codec.loads(text)
    except ValueError:
        raise ValueError("not JSON") from None
    model = model_of(value)
    about = value.get("learnt") if isinstance(value, dict) else None
    return Known(model, source, about if isinstance(about, dict) else {})
