"""`popkit context`: the answers of /popkit:context in a shell, for any session. Exit 1 when something that the user named does not
exist."""

from __future__ import annotations

import os

from popkit_retention.core.flag_parser import UsageError
from popkit_retention.core.io import files
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.operations import CONTEXT
from popkit_retention.core.state.site import Site

from . import answering
from .answering import Answer, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


COMMAND = "popkit context"
# Operations, and flags of others, that change a session.
_CHANGING = ("undo", "pin", "unpin")
# Operations that say something of the whole machine, where there is no session.
_OF_ALL = ("auto", "stats")
_CHANGING_FLAGS = frozenset(("in-place", "profile", "aggressive", "conservative"))


def run(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words, read as in Claude Code. Only its own table is loaded, because that of all commands takes longer."""
    return answering.run(CONTEXT, answer, words, environ)


def word(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words whose first is a command of its own (`popkit why T1`)."""
    return answering.run(CONTEXT, answer, words, environ, name=f"popkit {words[0]}")


def answer(parsed: Words, environ: Mapping[str, str]) -> Answer:
    """Do one operation on a session; Refused for anything that does not exist."""
    from popkit_retention.core.operations import context_words
    from popkit_retention.core.operations.changers import in_place_of

    from ..operations import session_lookup

    path = began = ""
    try:
        path = _transcript(parsed, environ)
        began = session_lookup.check(path)
    except session_lookup.NoSession as error:
        if path or parsed.word not in _OF_ALL or "session" in parsed.flags:
            raise Refused(str(error)) from None
    files.patience.left_s = files.LOCK_WAIT_S  # a stopped helper may hold a lock: after this time, the answer does without it
    id, is_recorded = (session_lookup.session_id_of(path), session_lookup.is_recorded(path)) if path else ("", False)
    site = Site(environ, id, began, is_recorded, "transcript" in parsed.flags)
    response = context_words.respond(parsed, site, path, time_of_day(environ), _called(parsed.flags), in_place_of(site))
    if response.error:
        raise Refused(response.error)
    return Answer(response.lines, response.data)


def _called(flags: dict) -> str:
    """Return how the reader calls us, with the session that the flags name, so that commands in an answer are about the same session."""
    named = [name for name in ("session", "transcript") if name in flags]
    if not named:
        return COMMAND
    from shlex import quote  # only to name another session

    return " ".join([COMMAND, *(f"--{name} {quote(flags[name])}" for name in named)])


def _transcript(parsed: Words, environ: Mapping[str, str]) -> str:
    """Return the transcript that a flag names, else that of the session that runs us, else the project's newest."""
    from ..operations import session_lookup

    flags = parsed.flags
    if "session" in flags and "transcript" in flags:
        raise UsageError("give either --session or --transcript")
    if "transcript" in flags and _changes(parsed):
        raise UsageError("--transcript is for reading. To change a session, name it: --session ID")
    if "transcript" in flags:
        return os.path.abspath(flags["transcript"])
    if "session" in flags:
        return session_lookup.by_id(environ, flags["session"])
    return session_lookup.current(environ, os.getcwd(), "--session ID" + " or --transcript FILE" * (not _changes(parsed)))


def _changes(parsed: Words) -> bool:
    """Return whether an operation changes a session."""
    if parsed.word == "clear":
        return "dry-run" not in parsed.flags
    if parsed.word == "auto":
        return bool(parsed.arguments) and parsed.arguments != ["show"]
    return parsed.word in _CHANGING or not _CHANGING_FLAGS.isdisjoint(parsed.flags)
