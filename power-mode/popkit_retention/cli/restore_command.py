"""`popkit restore`: prints what was cleared. The model runs it as its placeholders say: it starts fast, and prints nothing else."""

from __future__ import annotations

import os
import sys

from hooks.utils import flag_parser
from hooks.utils.context_table import CONTEXT
from hooks.utils.edges.system import now as time_of_day
from hooks.utils.state import live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

COMMAND = "popkit restore"


def run_words(words: list, environ: Mapping[str, str]) -> int:
    """Prints the contents that the words name; what asks about a session is answered as `popkit context restore`."""
    words = ["restore", *words]
    try:
        parsed = flag_parser.parse(words, CONTEXT)
    except flag_parser.UsageError as error:
        return _fail(error, "--json" in words, environ)
    itself = parsed.arguments and all(map(_names_itself, parsed.arguments))
    if parsed.operation is flag_parser.HELP or {"since", "in-place"} & set(parsed.flags) or not itself:
        from . import context_command

        return context_command.answer(words, environ, COMMAND)
    return _print(parsed, environ)


def _fail(error: Exception, as_data: bool, environ: Mapping[str, str]) -> int:
    from . import answering  # brings help with it

    return answering.fail(COMMAND, str(error), as_data, environ, ["popkit context help lists all words and flags."])


def _names_itself(word: str) -> bool:
    """Whether a word means the same in every session: a handle, an id, a path; not `T12`."""
    digits = word[1:] if word[:1] in "Tt" else word
    return not digits.isdigit()


def _print(parsed: Parsed, environ: Mapping[str, str]) -> int:
    from hooks.utils.answers import putback
    from hooks.utils.answers.text import as_json, clean
    from hooks.utils.reclaim import access, restoring

    site = live.Site(environ, environ.get("CLAUDE_CODE_SESSION_ID") or "", os.getcwd())
    as_data = "json" in parsed.flags
    try:
        with access.Opened(site.home) as db:
            records = [record for word in parsed.arguments for record in restoring.meant(db, word, site.session_id, site.project)]
            printed = restoring.printed(db, records)
            trouble = restoring.book_printed(site, db, records, time_of_day(environ))
    except (access.Refused, restoring.NotFound) as error:
        return _fail(error, as_data, environ)
    if as_data:
        print(as_json(putback.printed_data(printed)))
    else:
        from . import screen

        screen.write_content(putback.printed_lines(printed), sys.stdout, raw="raw" in parsed.flags)
    if trouble:
        print(f"{COMMAND}: {clean(trouble)}", file=sys.stderr)
    return 1 if any(content is None for _, content in printed) else 0
