"""`popkit context`: the answers of /popkit:context in a shell, for any session. Exit 1 when the user asked for what there is not."""

from __future__ import annotations

import os

from hooks.utils.context_table import CONTEXT
from hooks.utils.flag_parser import UsageError
from hooks.utils.io import files
from hooks.utils.io.system import now as time_of_day
from hooks.utils.operations import context as answers
from hooks.utils.state import live

from ..operations import sessions
from . import answering
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

COMMAND = "popkit context"


def run_words(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words, read as in Claude Code. Its table alone is loaded: that of all commands takes longer."""
    return answering.run(CONTEXT, run, words, environ)


def run(parsed: Parsed, environ: Mapping[str, str]) -> Answer:
    """Do one operation on the session that is meant; UsageError for what there is not."""
    try:
        path = _transcript(parsed.flags, environ)
        began = sessions.check(path)
    except sessions.NoSession as error:
        raise UsageError(str(error)) from None
    files.patience.left_s = files.LOCK_WAIT_S  # for all that a helper which stands still may hold: then it is told as far as it is known
    site = live.Site(environ, sessions.session_id_of(path), began)
    in_place = _running(site)
    site.in_place = in_place is not None
    given = answers.respond(parsed, site, path, time_of_day(environ), _called(parsed.flags), in_place)
    if given.error:
        raise UsageError(given.error)
    return Answer(given.lines, given.data)


def _running(site: live.Site) -> answers.InPlace | None:
    """Return what changes the conversation of the session, where it runs with a mod."""
    from hooks.utils.operations import running

    return running.of_session(site.home, site.session_id)


def _called(flags: dict) -> str:
    """Return how the reader calls us, with the session that the flags name, so that the commands of an answer mean the same one."""
    named = [name for name in ("session", "transcript") if name in flags]
    if not named:
        return COMMAND
    from shlex import quote  # only to name another session

    return " ".join([COMMAND, *(f"--{name} {quote(flags[name])}" for name in named)])


def _transcript(flags: dict, environ: Mapping[str, str]) -> str:
    if "session" in flags and "transcript" in flags:
        raise UsageError("give either --session or --transcript")
    if "transcript" in flags:
        return os.path.abspath(flags["transcript"])
    if "session" in flags:
        return sessions.by_id(environ, flags["session"])
    ours = environ.get("CLAUDE_CODE_SESSION_ID")  # Claude Code runs us
    try:
        return sessions.by_id(environ, ours) if ours else sessions.newest_of_project(environ, os.getcwd())
    except sessions.NoSession:
        return sessions.newest_of_project(environ, os.getcwd())
