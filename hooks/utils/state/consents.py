"""What the user has answered once with yes or no for all sessions, in a small file of our folder; a damaged one counts as empty."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..io.storage import LOGS, Storage
from ..io.system import join

NAME = "consents.json"
STORAGE = (Storage(LOGS, {"": r"consents\.json"}),)
YES, NO = "yes", "no"


def said(popkit_home: str, about: str) -> str:
    """Return YES or NO; "" where the user was never asked or has not answered."""
    answer = files.read_object(join(popkit_home, NAME)).get(about)
    return answer if answer in (YES, NO) else ""


def say(popkit_home: str, about: str, answer: str) -> None:
    """Keep an answer in place of an earlier one. OSError where it cannot be written."""
    files.make_private_folder(popkit_home)
    path = join(popkit_home, NAME)
    with files.Lock(path + ".lock"):
        files.replace_text(path, dumps({**files.read_object(path), about: answer}))
