"""What the user has said yes or no to once, for all sessions. A small file in our folder; a damaged one is as if nothing had been said."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.storage import LOGS, Storage
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "consents.json"
STORAGE = (Storage(LOGS, {"": r"consents\.json"}),)
YES, NO = "yes", "no"


def said(popkit_home: str, about: str) -> str:
    """YES or NO; "" where nobody has said either."""
    answer = _read(popkit_home).get(about)
    return answer if answer in (YES, NO) else ""


def say(popkit_home: str, about: str, answer: str) -> None:
    """Keeps an answer, in place of an earlier one. OSError where it cannot be kept."""
    files.make_private_folder(popkit_home)
    path = join(popkit_home, NAME)
    with files.Lock(path + ".lock"):
        files.replace_text(path, dumps({**_read(popkit_home), about: answer}))


def _read(popkit_home: str) -> dict[str, Any]:
    try:
        value = loads(files.read_text(join(popkit_home, NAME)) or "{}")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
