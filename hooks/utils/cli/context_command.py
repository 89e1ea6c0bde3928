"""`popkit context`: the answers of /popkit:context in a shell, for any session. Exit 1 when the user asked for what there is not."""

from __future__ import annotations

import os
import sys

from .. import flag_parser
from ..answers import command as answers
from ..answers import text
from ..answers.help import of_word, overview
from ..edges import live
from ..edges.system import now as time_of_day
from . import screen, sessions

COMMAND = "popkit context"


def add_parser(subparsers) -> None:
    # The words and flags are read by flag_parser, as in the client: to argparse all of them are plain words.
    parser = subparsers.add_parser("context", add_help=False, prefix_chars="\0")
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run)


def run(args, environ=os.environ) -> int:
    """Answers one line of words."""
    try:
        parsed = flag_parser.parse(args.words, cli=True)
        if parsed.word == "help":
            shown = of_word(parsed.arguments[0], COMMAND, True) if parsed.arguments else overview(COMMAND, True)
            screen.show(shown, sys.stdout, environ)
            return 0
        path = _transcript(parsed.flags, environ)
        began = sessions.check(path)
    except (flag_parser.UsageError, sessions.NoSession) as error:
        return _fail(str(error), "--json" in args.words, environ)
    site = live.Site(environ, sessions.session_id_of(path), began)
    given = answers.respond(parsed, site, path, time_of_day(environ), COMMAND)
    if given.error:
        return _fail(given.error, "json" in parsed.flags, environ)
    if "json" in parsed.flags:
        print(answers.as_json(given.data))
    else:
        screen.show(given.lines, sys.stdout, environ)
    return 0


def _transcript(flags: dict, environ) -> str:
    if "session" in flags and "transcript" in flags:
        raise flag_parser.UsageError("give --session or --transcript, not both")
    if "transcript" in flags:
        return os.path.abspath(flags["transcript"])
    if "session" in flags:
        return sessions.by_id(environ, flags["session"])
    return sessions.newest_of_project(environ, os.getcwd())


def _fail(message: str, as_json: bool, environ) -> int:
    if as_json:
        print(answers.as_json({"error": message}))
    else:
        lines = [*text.wrap(f"popkit context: {message}", indent="  "), "popkit context help shows all words and flags."]
        screen.show(lines, sys.stderr, environ)
    return 1
