"""`popkit restore`: print contents that left the context. Exit 1 when something that the user named does not exist.

The model runs it as placeholders say, so it starts fast: modules that only other operations need are loaded when they are used.
"""

from __future__ import annotations

import os
import sys

from popkit_retention.core.flag_parser import chosen
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.operations import CONTEXT
from popkit_retention.core.policy.kinds import OF_THE_ARCHIVE
from popkit_retention.core.state.site import Site
from popkit_retention.core.text import clean, laid_out

from . import answering, terminal
from .answering import Answer, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.flag_parser import Words


RESTORE = "popkit restore"
_HELP = frozenset(("help", "--help", "-h"))


def restore(words: list[str], environ: Mapping[str, str]) -> int:
    """Print the contents that the words name; words about a session are answered as by `popkit context restore`, words about the archive
    from the archive."""
    if not (_HELP | OF_THE_ARCHIVE).isdisjoint(words):  # otherwise the table of all commands, which is slow, need not be loaded
        from .restore_table import RESTORE as TABLE

        if chosen(words, TABLE)[0].name or not _HELP.isdisjoint(words):
            from . import archive_command

            return answering.run(TABLE, archive_command.run, words, environ, archive_command.MISTAKES)
    return answering.run(CONTEXT, _restored, ["restore", *words], environ, name=RESTORE)


def _restored(parsed: Words, environ: Mapping[str, str]) -> Answer:
    itself = parsed.arguments and all(map(_names_itself, parsed.arguments))
    if {"since", "in-place"} & set(parsed.flags) or not itself:
        from .context_command import answer  # a handle is printed from the archive without this

        return answer(parsed, environ)
    return _printed(parsed, environ)


def _names_itself(word: str) -> bool:
    """Return whether a word means the same in every session: a handle, an id, a path; not `T12`."""
    digits = word[1:] if word[:1] in "Tt" else word
    return not digits.isdigit()


def _printed(parsed: Words, environ: Mapping[str, str]) -> Answer:
    """Return the contents to print, and record that they were printed. An error in recording goes to standard error."""
    from popkit_retention.core.reclaim import access, restoring
    from popkit_retention.core.views import restored

    site = Site(environ, environ.get("CLAUDE_CODE_SESSION_ID") or "", os.getcwd())
    printed: list[tuple[Record, str | None]] = []
    trouble = ""
    for number, folder in enumerate(folders := restoring.homes(site), 1):
        try:
            with access.OpenArchive(folder) as db:
                records = [record for word in parsed.arguments for record in restoring.records_for(db, word, site.session_id, site.project)]
                printed = restoring.printed(db, records, site.home if site.session_id else folder)
                trouble = restoring.book_printed(site, db, records, time_of_day(environ))
            break
        except (access.ClearRefused, restoring.ContentNotFound) as error:
            if number == len(folders):
                raise Refused(". ".join(filter(None, (str(error), site.rules_in_words())))) from None
    if trouble:
        print(f"{RESTORE}: {clean(trouble)}", file=sys.stderr)
    content = "\n".join(laid_out(restored.printed_lines(printed), terminal.width(sys.stdout))) + "\n"
    is_incomplete = any(content is None for _, content in printed)
    return Answer([], restored.printed_data(printed), content, int(is_incomplete), "raw" in parsed.flags)
