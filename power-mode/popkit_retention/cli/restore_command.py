"""`popkit restore`: prints what was cleared. The model runs it as its placeholders say: it starts fast, and prints nothing else."""

from __future__ import annotations

import os
import sys

from hooks.utils.context_table import CONTEXT
from hooks.utils.flag_parser import UsageError
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state import live
from hooks.utils.text import as_json, clean, laid_out

from . import answering, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

    from .answering import Answer

COMMAND = "popkit restore"


def run_words(words: list[str], environ: Mapping[str, str]) -> int:
    """Print the contents that the words name; what asks about a session is answered as `popkit context restore`."""
    return answering.run(CONTEXT, _run, ["restore", *words], environ, name=COMMAND)


def _run(parsed: Parsed, environ: Mapping[str, str]) -> Answer | int:
    itself = parsed.arguments and all(map(_names_itself, parsed.arguments))
    if {"since", "in-place"} & set(parsed.flags) or not itself:
        from . import context_command  # brings every answer with it

        return context_command.run(parsed, environ)
    return _print(parsed, environ)


def _names_itself(word: str) -> bool:
    """Return whether a word means the same in every session: a handle, an id, a path; not `T12`."""
    digits = word[1:] if word[:1] in "Tt" else word
    return not digits.isdigit()


def _print(parsed: Parsed, environ: Mapping[str, str]) -> int:
    from hooks.utils.reclaim import access, restoring
    from hooks.utils.views import putback

    site = live.Site(environ, environ.get("CLAUDE_CODE_SESSION_ID") or "", os.getcwd())
    try:
        with access.Opened(site.home) as db:
            records = [record for word in parsed.arguments for record in restoring.meant(db, word, site.session_id, site.project)]
            printed = restoring.printed(db, records)
            trouble = restoring.book_printed(site, db, records, time_of_day(environ))
    except (access.Refused, restoring.NotFound) as error:
        raise UsageError(str(error)) from None
    if "json" in parsed.flags:
        print(as_json(putback.printed_data(printed)))
    else:
        screen.write_content(laid_out(putback.printed_lines(printed), screen.width(sys.stdout)), sys.stdout, raw="raw" in parsed.flags)
    if trouble:
        print(f"{COMMAND}: {clean(trouble)}", file=sys.stderr)
    return 1 if any(content is None for _, content in printed) else 0
