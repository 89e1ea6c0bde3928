"""`popkit memory`: long-term memory in a shell. Exit 1 when something that the user named does not exist, or the store cannot be used."""

from __future__ import annotations

import os
from functools import partial

from popkit_retention.core import flag_parser
from popkit_retention.core.io.home import NoHome
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.operations import memory_switch
from popkit_retention.core.state import jobs
from popkit_retention.core.state.memory_checkouts import CheckoutNotJoined
from popkit_retention.core.text import quote as shown

from .. import features
from ..cli import answering
from ..cli.answering import Answer, Refused
from .holds import ItemOnHold
from .items import BadItem
from .memory import ItemNotFound, JobRunning
from .operations import MEMORY, MEMORY_COMMAND
from .place import Place
from .stores.protocol import DuplicateId, StoreUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# Mistakes of the user and obstacles: the message says which, and what to do.
MISTAKES = (Refused, ItemNotFound, JobRunning, ItemOnHold, BadItem, DuplicateId, StoreUnavailable, NoHome, OSError)
HOOK = "memory-learn"  # in the hooks' log
# Words that store something: the others create no store.
_KEEP = ("add", "import", "learn")
# Words about a folder itself: memory cannot be switched on for a missing one.
_HERE = ("on", "off", "join")


def called(environ: Mapping[str, str]) -> str:
    """Return how the reader calls us, with which commands in an answer begin."""
    return environ.get(memory_switch.CALLED_AS) or MEMORY_COMMAND


class Request:
    """A request: the parsed words, the project, the time, and how the reader calls us."""

    __slots__ = ("arguments", "command", "environ", "flags", "now", "place", "word")

    def __init__(self, parsed: flag_parser.Words, place: Place, environ: Mapping[str, str]):
        self.word = parsed.word
        self.arguments: list[str] = parsed.arguments
        self.flags: dict = parsed.flags
        self.place = place
        self.environ = environ
        self.now = time_of_day(environ)
        self.command = called(environ)


def run(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words; return the exit code."""
    if "learn" in words[:2] and "--quiet" in words:
        answering.run_unattended(HOOK, lambda: _answer(flag_parser.parse(words, MEMORY), environ), environ)
        for job in features.offering("job"):  # the end of a session starts one child process, so this one also does what else is due
            answering.run_unattended(jobs.COLLECTION_HOOK, partial(job, environ), environ)
        return 0
    return answering.run(MEMORY, _answer, words, environ, MISTAKES, called(environ))


def _answer(parsed: flag_parser.Words, environ: Mapping[str, str]) -> Answer:
    folder = parsed.flags.get("project") or os.getcwd()
    is_missing = not os.path.isdir(folder)
    if is_missing and (os.path.lexists(folder) or parsed.word in _HERE):
        raise flag_parser.UsageError(f"--project takes a folder, and {shown(folder)} is not one")
    with Place(environ, folder, makes=parsed.word in _KEEP and not is_missing) as place:
        try:
            if is_missing and parsed.word != "learn" and not place.memory.status()["items"]:
                raise Refused(f"there is no folder {shown(folder)}, and nothing is remembered about it")
            return MEMORY.function(parsed.operation)(Request(parsed, place, environ))
        except CheckoutNotJoined as error:
            raise Refused(str(error).replace(MEMORY_COMMAND, called(environ))) from None
        except MISTAKES:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            wrong = place.memory.store.verify()
            if not wrong:
                raise
            raise StoreUnavailable(f"the store is damaged: {wrong[0]}. `popkit memory admin verify` lists all that is broken") from None
