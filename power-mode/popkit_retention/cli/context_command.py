"""`popkit context`: the answers of /popkit:context in a shell, for any session; and `popkit restore`, which prints what was cleared. Exit 1
when something that the user named does not exist.

The model runs `restore` as placeholders say, so it starts fast: modules that only other operations need are loaded when they are used.
"""

from __future__ import annotations

import os
import sys

from hooks.utils.flag_parser import UsageError, chosen
from hooks.utils.io import files
from hooks.utils.io.system import now as time_of_day
from hooks.utils.operations import CONTEXT
from hooks.utils.policy.kinds import OF_THE_ARCHIVE
from hooks.utils.state.site import Site
from hooks.utils.text import clean, laid_out

from . import answering, terminal
from .answering import Answer, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.archive.records import Record
    from hooks.utils.flag_parser import Parsed

COMMAND, RESTORE = "popkit context", "popkit restore"
_HELP = frozenset(("help", "--help", "-h"))
# Operations, and flags of others, that change a session.
_CHANGING = ("undo", "pin", "unpin")
_CHANGING_FLAGS = frozenset(("in-place", "profile", "aggressive", "conservative"))


def run(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words, read as in Claude Code. Only its own table is loaded, because that of all commands takes longer."""
    return answering.run(CONTEXT, _answer, words, environ)


def word(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words whose first is a command of its own (`popkit why T1`)."""
    return answering.run(CONTEXT, _answer, words, environ, name=f"popkit {words[0]}")


def restore(words: list[str], environ: Mapping[str, str]) -> int:
    """Print the contents that the words name; words about a session are answered as `popkit context restore`, those about the archive from
    it."""
    if not (_HELP | OF_THE_ARCHIVE).isdisjoint(words):  # else the table of all commands, which takes long, need not be loaded
        from .restore_table import RESTORE as TABLE

        if chosen(words, TABLE)[0].name or not _HELP.isdisjoint(words):
            from . import archive_command

            return answering.run(TABLE, archive_command.run, words, environ, archive_command.MISTAKES)
    return answering.run(CONTEXT, _restored, ["restore", *words], environ, name=RESTORE)


# --- about a session ---


def _answer(parsed: Parsed, environ: Mapping[str, str]) -> Answer:
    """Do one operation on a session; Refused for anything that does not exist."""
    from hooks.utils.operations import context_words
    from hooks.utils.operations.changers import in_place_of

    from ..operations import session_lookup

    try:
        path = _transcript(parsed, environ)
        began = session_lookup.check(path)
    except session_lookup.NoSession as error:
        raise Refused(str(error)) from None
    files.patience.left_s = files.LOCK_WAIT_S  # a stopped helper may hold a lock: after this time, the answer does without it
    site = Site(environ, session_lookup.session_id_of(path), began)
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


def _transcript(parsed: Parsed, environ: Mapping[str, str]) -> str:
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
    return session_lookup.current(environ, os.getcwd())


def _changes(parsed: Parsed) -> bool:
    """Return whether an operation changes a session."""
    if parsed.word == "clear":
        return "dry-run" not in parsed.flags
    return parsed.word in _CHANGING or not _CHANGING_FLAGS.isdisjoint(parsed.flags)


# --- contents by their names ---


def _restored(parsed: Parsed, environ: Mapping[str, str]) -> Answer:
    itself = parsed.arguments and all(map(_names_itself, parsed.arguments))
    if {"since", "in-place"} & set(parsed.flags) or not itself:
        return _answer(parsed, environ)
    return _printed(parsed, environ)


def _names_itself(word: str) -> bool:
    """Return whether a word means the same in every session: a handle, an id, a path; not `T12`."""
    digits = word[1:] if word[:1] in "Tt" else word
    return not digits.isdigit()


def _printed(parsed: Parsed, environ: Mapping[str, str]) -> Answer:
    """Return the contents to print, and record that they were printed. An error in recording goes to standard error."""
    from hooks.utils.reclaim import access, restoring
    from hooks.utils.views import restored

    site = Site(environ, environ.get("CLAUDE_CODE_SESSION_ID") or "", os.getcwd())
    printed: list[tuple[Record, str | None]] = []
    trouble = ""
    for number, folder in enumerate(folders := restoring.homes(site), 1):
        try:
            with access.Opened(folder) as db:
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
