"""`popkit memory`: what past sessions have taught, in a shell. Exit 1 when the user asked for what there is not, or the store cannot be
used.

What people read comes from `views`; learning from transcripts from `memory_learning`.
"""

from __future__ import annotations

import os
import sys

from hooks.utils import flag_parser, text
from hooks.utils.io import failures
from hooks.utils.io.home import NoHome, popkit_home
from hooks.utils.io.system import now as time_of_day
from hooks.utils.operations import memory as turns
from hooks.utils.state import memory as kept
from hooks.utils.state.joining import NotJoined
from hooks.utils.state.memory import MOST_TOKENS
from hooks.utils.text import quote as shown
from hooks.utils.views.memory import turned_lines

from ..governance.data_folder import Folder
from ..memory.holds import OnHold
from ..memory.items import BadItem
from ..memory.memory import Busy, NotThere
from ..memory.stores import DuplicateId, StoreUnavailable
from ..operations import sessions
from ..operations.memory_table import COMMAND, LISTED, TABLE
from ..views import memory as memory_reports
from ..views import memory_items as memory_texts
from . import memory_files, memory_learning
from .answering import Answer, run
from .memory_place import Place
from .past_sessions import Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..memory.items import Item

# What the user got wrong, or what stands in the way: the message says which, and what to do.
MISTAKES = (
    Refused, sessions.NoSession, NotThere, Busy, OnHold, BadItem, DuplicateId, StoreUnavailable, NoHome, OSError,
)  # fmt: skip
HOOK, _COLLECTS = "memory-learn", "retention"  # in the hooks' log
_CALLED = "popkit context"  # by which all words that `on` and `off` name can be reached
_TEXT_BYTES = 4 << 20  # from standard input: more than any item may have


def called(environ: Mapping[str, str]) -> str:
    """How the reader calls us: what an answer tells to type next begins with it."""
    return environ.get(turns.CALLED_AS) or COMMAND


class Asked:
    """One question: the words as understood, the place that they are about, the time, and how the reader calls us."""

    __slots__ = ("arguments", "command", "environ", "flags", "now", "place", "word")

    def __init__(self, parsed: flag_parser.Parsed, place: Place, environ: Mapping[str, str]):
        self.word = parsed.word
        self.arguments: list[str] = parsed.arguments
        self.flags: dict = parsed.flags
        self.place = place
        self.environ = environ
        self.now = time_of_day(environ)
        self.command = called(environ)


def run_words(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Answers one line of words; the exit code."""
    if words[:1] == ["learn"] and "--quiet" in words:
        return _quietly(words, environ)
    return run(TABLE, _answer, words, environ, MISTAKES, called(environ))


def _quietly(words: list[str], environ: Mapping[str, str]) -> int:
    """For a hook's child: nobody reads what it prints or how it ends. It collects, too, so that a session's end starts one child."""
    from ..governance import hourly_job

    learns = (HOOK, lambda: _answer(flag_parser.parse(words, TABLE), environ))
    collects = (_COLLECTS, lambda: hourly_job.collect(environ))
    for name, work in (learns, collects):
        try:
            work()
        except Exception as error:  # noqa: BLE001, PERF203  whatever it is, the log is where it is looked for
            failures.record(environ, name, error)
    return 0


def _answer(parsed: flag_parser.Parsed, environ: Mapping[str, str]) -> Answer:
    folder = parsed.flags.get("project") or os.getcwd()
    is_gone = not os.path.isdir(folder)
    if is_gone and (os.path.lexists(folder) or parsed.word in _HERE):
        raise flag_parser.UsageError(f"--project takes a folder, and {shown(folder)} is none")
    with Place(environ, folder, makes=parsed.word in _KEEP and not is_gone) as place:
        try:
            if is_gone and parsed.word != "learn" and not place.memory.status()["items"]:
                raise Refused(f"there is no folder {shown(folder)}, and nothing is remembered of one")
            return _ANSWERS[parsed.word](Asked(parsed, place, environ))
        except NotJoined as error:
            raise Refused(str(error).replace(COMMAND, called(environ))) from None
        except MISTAKES:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            wrong = place.memory.store.verify()
            if not wrong:
                raise
            raise StoreUnavailable(f"the store is damaged: {wrong[0]}. `popkit memory verify` lists all that is broken") from None


# --- asking ----------------------------------------------------------------------------------------------------------------------------


def _status(asked: Asked) -> Answer:
    place = asked.place
    here = {"name": place.name, "on": place.project.is_on(), "document_tokens": place.document_tokens, "theirs": place.theirs}
    found = {**place.memory.status(), **here}
    return Answer(memory_reports.status(found, asked.now, asked.command), found)


def _list(asked: Asked) -> Answer:
    tiers, kinds = asked.flags.get("tier", ()), asked.flags.get("kind", ())
    most = None if "all" in asked.flags else LISTED + 1
    found = asked.place.memory.list(tiers, kinds, "marked" in asked.flags, None if "waiting" in asked.flags else most)
    if "waiting" in asked.flags:
        found = [item for item in found if item.waits][:most]
    more = len(found) > LISTED and "all" not in asked.flags
    found = found[:LISTED] if more else found
    lines = memory_texts.by_tier(found, asked.now) if found else text.wrap(_nothing(asked))
    if more:
        lines += ["", f"There is more: --all shows more than {LISTED} items."]
    lines += memory_texts.to_accept(found, asked.command)
    return Answer(lines, {"items": [item.to_json() for item in found], "more": more})


def _nothing(asked: Asked) -> str:
    if "marked" in asked.flags:
        return "Nothing is forgotten."
    if "waiting" in asked.flags:
        return "Nothing waits for your yes."
    if "tier" in asked.flags or "kind" in asked.flags:
        return "Nothing matches."
    return f"Nothing is remembered about {asked.place.name} yet. {asked.command} learn --past learns from its past sessions."


def _search(asked: Asked) -> Answer:
    words = asked.arguments[0]
    found = asked.place.memory.search(words, asked.flags["most"])
    lines = memory_texts.in_order([item for item, _ in found], asked.now)
    lines = lines or text.wrap(f"Nothing found for {shown(words)}.")
    lines += memory_texts.to_accept([item for item, _ in found], asked.command)
    return Answer(lines, {"items": [{**item.to_json(), "relevance": relevance} for item, relevance in found]})


def _show(asked: Asked) -> Answer:
    item = asked.place.memory.show(asked.arguments[0])
    return Answer([*memory_texts.show(item, asked.place.name, asked.now, asked.command), ""], item.to_json(), item.text)


def _why(asked: Asked) -> Answer:
    found = asked.place.memory.why(asked.arguments[0])
    return Answer(memory_texts.why(found, asked.now, asked.command), found)


# --- changing --------------------------------------------------------------------------------------------------------------------------


def _add(asked: Asked) -> Answer:
    said = _read_stdin() if asked.arguments == [memory_files.STDIN] else asked.arguments[0]
    if not said.strip():
        raise flag_parser.UsageError("there is nothing to remember: the text is empty")
    kind = asked.flags.get("kind", "").strip()
    if "," in kind:
        raise flag_parser.UsageError("an item is of one kind")
    item = asked.place.memory.add(said, *([kind] if kind else []))
    return _changed(asked, asked.place.memory.mark_key([item.id]) if "key" in asked.flags else [item])


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(_TEXT_BYTES + 1) if sys.stdin else b""
    if len(data) > _TEXT_BYTES:
        raise flag_parser.UsageError(f"standard input holds more than {_TEXT_BYTES >> 20} MB. Split it into smaller items")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise flag_parser.UsageError("standard input is not UTF-8 text") from None


def _change(asked: Asked) -> Answer:
    """What pin, unpin, promote, demote, restore and undo do: each is a method of the memory."""
    return _changed(asked, getattr(asked.place.memory, asked.word)(asked.arguments))


def _accept(asked: Asked) -> Answer:
    if ("all" in asked.flags) == bool(asked.arguments):
        raise flag_parser.UsageError("accept needs ID…, for example: accept m3fa. To accept everything that waits: accept --all")
    memory = asked.place.memory
    ids = asked.arguments or [item.id for item in memory.waiting()]
    if not ids:
        raise Refused("nothing waits for your yes")
    return _changed(asked, memory.accept(ids))


def _forget(asked: Asked) -> Answer:
    if ("all" in asked.flags) == bool(asked.arguments):
        raise flag_parser.UsageError("forget needs ID…, for example: forget m3fa. To forget everything about this project: forget --all")
    memory = asked.place.memory
    ids = asked.arguments or [item.id for item in memory.list(most=None)]
    answer = _changed(asked, memory.forget(ids))
    if not asked.place.project.is_on():
        answer.lines += ["Memory is off, so this deletes it once 24 h have passed:", f"  {asked.command} run"]
    archives = Folder(popkit_home(asked.environ)).archives
    if os.path.isdir(archives) and os.listdir(archives):
        answer.lines += ["Archives that you have made may keep copies. To see them:", "  popkit retention archives"]
    return answer


def _changed(asked: Asked, items: list[Item]) -> Answer:
    asked.place.refresh()
    return Answer(memory_texts.changed(asked.word, items, asked.now, asked.command), {"items": [item.to_json() for item in items]})


# --- learning and keeping house ----------------------------------------------------------------------------------------------------------


def _learn(asked: Asked) -> Answer:
    if "if-on" in asked.flags:
        if len(asked.arguments) != 1 or "past" in asked.flags:
            raise flag_parser.UsageError("--if-on takes one transcript")
        memory_learning.if_on(asked.arguments[0], asked.environ)
        return Answer([], {})
    paths = memory_learning.transcripts(asked.arguments, "past" in asked.flags, asked.place)
    into = asked.place if "project" in asked.flags or "past" in asked.flags else None
    learnt = memory_learning.learn(paths, asked.environ, into, Bar(asked.environ, "sessions"))
    return Answer(memory_reports.learnt(learnt.to_json(), asked.command), learnt.to_json())


def _run(asked: Asked) -> Answer:
    report = asked.place.memory.run("force" in asked.flags)
    if report is None:
        return Answer(text.wrap(f"The job has run less than an hour ago. {asked.command} run --force runs it anyway."), {"ran": False})
    asked.place.refresh()
    found = report.to_json()
    return Answer(memory_reports.ran(found, asked.now, asked.command), {"ran": True, **found})


def _file(asked: Asked) -> Answer:
    budget = asked.flags.get("tokens", asked.place.tokens)
    if budget > MOST_TOKENS:
        raise flag_parser.UsageError(f"--tokens takes at most {MOST_TOKENS:,}: Claude Code cuts a longer MEMORY.md without a word")
    document = asked.place.memory.document(budget, asked.flags.get("for", ""))
    lines: list[text.Line] = []
    if "why" in asked.flags:
        absent = {id for id, _ in document.left_out}
        items = [item for item in asked.place.memory.list(marked=None, most=None) if item.id in absent]
        lines = memory_reports.left_out(document, items, budget, asked.now)
    elif not document.text:
        empty = f"MEMORY.md would be empty. {asked.command} file --why says why."
        lines = text.wrap(empty if document.left_out else _nothing(asked))
    found = {name: value for name, value in vars(document).items() if name != "entries"}
    return Answer(lines, found, "" if "why" in asked.flags else document.text)


def _loss(asked: Asked) -> Answer:
    found = [vars(each) for each in asked.place.memory.loss()]
    return Answer(memory_reports.loss(found), {"levels": found})


def _export(asked: Asked) -> Answer:
    lines = asked.place.memory.export("all" in asked.flags)
    if not asked.arguments:
        for line in lines:
            print(line.rstrip("\n"))
        return Answer([])
    path = os.path.abspath(asked.arguments[0])
    count = memory_files.write_lines(path, lines) - 2  # of which the first is the head, the last the end
    return Answer(text.wrap(f"Wrote {text.counted(count, 'item')} to {path}"), {"items": count, "file": path})


def _import(asked: Asked) -> Answer:
    with memory_files.lines_of(asked.arguments[0]) as lines:
        try:
            count = asked.place.memory.take_in(lines, "missing" in asked.flags)
        except DuplicateId as error:
            raise Refused(f"{error}, so nothing is imported. --missing skips what is there") from None
    asked.place.refresh()
    return Answer(text.wrap(f"Imported {text.counted(count, 'item')}."), {"items": count})


def _verify(asked: Asked) -> Answer:
    wrong = asked.place.memory.store.verify()
    lines = [line for each in wrong for line in text.wrap(f"Broken: {each}", indent="  ")] or ["Everything is as it was written."]
    return Answer(lines, {"ok": not wrong, "broken": wrong}, code=int(bool(wrong)))


def _turn(asked: Asked) -> Answer:
    found = turns.turn(asked.word == "on", asked.place.site, asked.now)
    asked.place.refresh()
    return Answer(turned_lines(found, _CALLED), found)


def _join(asked: Asked) -> Answer:
    project = kept.project_of(asked.place.site.home, asked.place.folder, claimed=True)
    owner, joins = project.owner(), "no" not in asked.flags
    if not owner:
        raise Refused(f"there is nothing to decide: no other checkout of {text.clean(project.repository.name)} has switched memory on")
    project.decide(joins)
    found = {"joined": joins, "project": project.repository.name, "root": project.repository.claimed_by, "owner": owner}
    return Answer(memory_reports.joined(found, asked.command), found)


# Words that have something to keep: the others make no store.
_KEEP = ("add", "import", "learn")
# Words about a folder itself: one that is gone cannot be switched on.
_HERE = ("on", "off", "join")
_ANSWERS = {
    "status": _status,
    "list": _list,
    "search": _search,
    "show": _show,
    "why": _why,
    "add": _add,
    **dict.fromkeys(("pin", "unpin", "promote", "demote", "restore", "undo"), _change),
    "accept": _accept,
    "forget": _forget,
    "learn": _learn,
    "run": _run,
    "file": _file,
    "loss": _loss,
    "export": _export,
    "import": _import,
    "verify": _verify,
    **dict.fromkeys(("on", "off"), _turn),
    "join": _join,
}
