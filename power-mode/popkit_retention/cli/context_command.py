"""`popkit context`: the answers of /popkit:context in a shell, for any session. Exit 1 when the user asked for what there is not."""

from __future__ import annotations

import os
import shlex
import sys

from hooks.utils import flag_parser, text
from hooks.utils.edges import files
from hooks.utils.edges.system import now as time_of_day
from hooks.utils.operations import context as answers
from hooks.utils.state import live
from hooks.utils.views.help import of_word, overview

from ..operations import sessions
from . import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = "popkit context"


def run_words(words: list[str], environ: Mapping[str, str]) -> int:
    """Answers one line of words, which flag_parser reads as in Claude Code."""
    return answer(words, environ)


def answer(words: list[str], environ: Mapping[str, str], command: str = COMMAND) -> int:
    """Answers a line of words, called as `command`."""
    try:
        parsed = flag_parser.parse(words, cli=True)
        if parsed.word == "help":
            shown = of_word(parsed.arguments[0], COMMAND, True) if parsed.arguments else overview(COMMAND, True)
            screen.show(shown, sys.stdout, environ)
            return 0
        path = _transcript(parsed.flags, environ)
        began = sessions.check(path)
    except (flag_parser.UsageError, sessions.NoSession) as error:
        return fail(str(error), "--json" in words, environ, command)
    files.patience.left_s = files.LOCK_WAIT_S  # for all that a helper which stands still may hold: then it is told as far as it is known
    site = live.Site(environ, sessions.session_id_of(path), began)
    in_place = _running(site)
    site.in_place = in_place is not None
    given = answers.respond(parsed, site, path, time_of_day(environ), _called(parsed.flags), in_place)
    if given.error:
        return fail(given.error, "json" in parsed.flags, environ, command)
    if "json" in parsed.flags:
        print(text.as_json(given.data))
    else:
        screen.show(given.lines, sys.stdout, environ)
    return 0


def _running(site: live.Site) -> answers.InPlace | None:
    """Who changes the conversation of the session, where it runs with a mod."""
    from hooks.utils.operations import running

    return running.of_session(site.home, site.session_id)


def _called(flags: dict) -> str:
    """How the reader calls us, with the session that the flags name, so that the commands of an answer mean the same one."""
    named = [f"--{name} {shlex.quote(flags[name])}" for name in ("session", "transcript") if name in flags]
    return " ".join([COMMAND, *named])


def _transcript(flags: dict, environ: Mapping[str, str]) -> str:
    if "session" in flags and "transcript" in flags:
        raise flag_parser.UsageError("give either --session or --transcript")
    if "transcript" in flags:
        return os.path.abspath(flags["transcript"])
    if "session" in flags:
        return sessions.by_id(environ, flags["session"])
    ours = environ.get("CLAUDE_CODE_SESSION_ID")  # Claude Code runs us
    try:
        return sessions.by_id(environ, ours) if ours else sessions.newest_of_project(environ, os.getcwd())
    except sessions.NoSession:
        return sessions.newest_of_project(environ, os.getcwd())


def fail(message: str, as_json: bool, environ: Mapping[str, str], command: str = COMMAND) -> int:
    """Tells of a mistake; returns the exit code."""
    if as_json:
        print(text.as_json({"error": message}))
    else:
        lines = [*text.wrap(f"{command}: {message}", indent="  "), "popkit context help lists all words and flags."]
        screen.show(lines, sys.stderr, environ)
    return 1
