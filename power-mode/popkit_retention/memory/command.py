"""`popkit memory`: long-term memory in a shell. Exit 1 when something that the user named does not exist, or the store cannot be used.
`views` has the texts, `memory_learning` learns from transcripts."""

from __future__ import annotations

import os
import sys
from functools import partial

from hooks.utils import flag_parser, text, units
from hooks.utils.io.home import NoHome, popkit_home
from hooks.utils.io.system import now as time_of_day
from hooks.utils.operations import memory_switch
from hooks.utils.state import jobs
from hooks.utils.state import memory as memory_state
from hooks.utils.state.memory import MOST_TOKENS
from hooks.utils.state.memory_checkouts import CheckoutNotJoined
from hooks.utils.text import quote as shown
from hooks.utils.views.memory_in_session import turned_lines

from .. import features
from ..cli import answering
from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from . import item_views, views
from .holds import ItemOnHold
from .items import BadItem
from .memory import ItemNotFound, JobRunning
from .monitoring import monitor
from .operations import ITEMS_LISTED, MEMORY, MEMORY_COMMAND
from .place import Place
from .stores.protocol import DuplicateId, StoreUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .items import Item

# Mistakes of the user and obstacles: the message says which, and what to do.
MISTAKES = (Refused, ItemNotFound, JobRunning, ItemOnHold, BadItem, DuplicateId, StoreUnavailable, NoHome, OSError)
HOOK = "memory-learn"  # in the hooks' log
_CALLED = "popkit context"  # which reaches all words that `on` and `off` name
_STDIN = "-"
_TEXT_BYTES = 4 << 20  # from standard input: more than the longest item


def called(environ: Mapping[str, str]) -> str:
    """Return how the reader calls us, with which commands in an answer begin."""
    return environ.get(memory_switch.CALLED_AS) or MEMORY_COMMAND


class Request:
    """One request: the parsed words, the project, the time, and how the reader calls us."""

    __slots__ = ("arguments", "command", "environ", "flags", "now", "place", "word")

    def __init__(self, parsed: flag_parser.Parsed, place: Place, environ: Mapping[str, str]):
        self.word = parsed.word
        self.arguments: list[str] = parsed.arguments
        self.flags: dict = parsed.flags
        self.place = place
        self.environ = environ
        self.now = time_of_day(environ)
        self.command = called(environ)


def run(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Answer one line of words; return the exit code."""
    if "learn" in words[:2] and "--quiet" in words:
        answering.run_unattended(HOOK, lambda: _answer(flag_parser.parse(words, MEMORY), environ), environ)
        for job in features.offering("job"):  # the end of a session starts one child process, so this one also does what else is due
            answering.run_unattended(jobs.COLLECTION_HOOK, partial(job, environ), environ)
        return 0
    return answering.run(MEMORY, _answer, words, environ, MISTAKES, called(environ))


def _answer(parsed: flag_parser.Parsed, environ: Mapping[str, str]) -> Answer:
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


# --- asking ---


def status(request: Request) -> Answer:
    place = request.place
    if "store" in request.flags:
        stored = monitor(place.memory.store, request.now, place.project.repository.key if "project" in request.flags else None)
        return Answer(views.store(stored), stored.to_json())
    here = {"name": place.name, "on": place.project.is_on(), "document_tokens": place.document_tokens, "theirs": place.theirs}
    status = {**place.memory.status(), **here}
    return Answer(views.status(status, request.now, request.command), status)


def list_items(request: Request) -> Answer:
    tiers, kinds = request.flags.get("tier", ()), request.flags.get("kind", ())
    most = None if "all" in request.flags else ITEMS_LISTED + 1
    items = request.place.memory.list(tiers, kinds, "marked" in request.flags, None if "waiting" in request.flags else most)
    if "waiting" in request.flags:
        items = [item for item in items if item.waits][:most]
    more = len(items) > ITEMS_LISTED and "all" not in request.flags
    items = items[:ITEMS_LISTED] if more else items
    lines = item_views.by_tier(items, request.now) if items else text.wrap(_nothing(request))
    if more:
        lines += ["", f"There is more: --all shows more than {ITEMS_LISTED} items."]
    lines += item_views.to_accept(items, request.command)
    return Answer(lines, {"items": [item.to_json() for item in items], "more": more})


def _nothing(request: Request) -> str:
    if "marked" in request.flags:
        return "Nothing is forgotten."
    if "waiting" in request.flags:
        return "Nothing is waiting for your approval."
    if "tier" in request.flags or "kind" in request.flags:
        return "Nothing matches."
    return f"Nothing is remembered about {request.place.name} yet. {request.command} admin learn --past learns from its past sessions."


def search(request: Request) -> Answer:
    words = request.arguments[0]
    matches = request.place.memory.search(words, request.flags["most"])
    lines = item_views.in_order([item for item, _ in matches], request.now)
    lines = lines or text.wrap(f"Nothing found for {shown(words)}.")
    lines += item_views.to_accept([item for item, _ in matches], request.command)
    return Answer(lines, {"items": [{**item.to_json(), "relevance": relevance} for item, relevance in matches]})


def show(request: Request) -> Answer:
    item = request.place.memory.show(request.arguments[0])
    return Answer([*item_views.show(item, request.place.name, request.now, request.command), ""], item.to_json(), item.text)


def why(request: Request) -> Answer:
    reasons = request.place.memory.why(request.arguments[0])
    return Answer(item_views.why(reasons, request.now, request.command), reasons)


# --- changing ---


def add(request: Request) -> Answer:
    content = _read_stdin() if request.arguments == [_STDIN] else request.arguments[0]
    if not content.strip():
        raise flag_parser.UsageError("there is nothing to remember: the text is empty")
    kind = request.flags.get("kind", "").strip()
    if "," in kind:
        raise flag_parser.UsageError("an item has one kind")
    item = request.place.memory.add(content, *([kind] if kind else []))
    return _changed(request, request.place.memory.mark_key([item.id]) if "key" in request.flags else [item])


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(_TEXT_BYTES + 1) if sys.stdin else b""
    if len(data) > _TEXT_BYTES:
        raise flag_parser.UsageError(f"standard input holds more than {_TEXT_BYTES >> 20} MB. Split it into smaller items")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise flag_parser.UsageError("standard input is not UTF-8 text") from None


def change(request: Request) -> Answer:
    """Pin, unpin, promote, demote, restore or undo: each is a method of the memory."""
    return _changed(request, getattr(request.place.memory, request.word)(request.arguments))


def accept(request: Request) -> Answer:
    if ("all" in request.flags) == bool(request.arguments):
        raise flag_parser.UsageError("accept needs ID…, for example: accept m3fa. To accept everything that is waiting: accept --all")
    memory = request.place.memory
    ids = request.arguments or [item.id for item in memory.waiting()]
    if not ids:
        raise Refused("nothing is waiting for your approval")
    return _changed(request, memory.accept(ids))


def forget(request: Request) -> Answer:
    if ("all" in request.flags) == bool(request.arguments):
        raise flag_parser.UsageError("forget needs ID…, for example: forget m3fa. To forget everything about this project: forget --all")
    memory = request.place.memory
    ids = request.arguments or [item.id for item in memory.list(most=None)]
    answer = _changed(request, memory.forget(ids))
    if not request.place.project.is_on():
        answer.lines += ["Memory is off, so this deletes it once 24 h have passed:", f"  {request.command} admin run"]
    for copies in features.offering("copies"):
        answer.lines += copies(popkit_home(request.environ))
    return answer


def _changed(request: Request, items: list[Item]) -> Answer:
    request.place.refresh()
    return Answer(item_views.changed(request.word, items, request.now, request.command), {"items": [item.to_json() for item in items]})


# --- learning and upkeep ---


def learn(request: Request) -> Answer:
    from ..operations import many_sessions, session_lookup
    from ..parallel.sources import Source, SourceUnavailable
    from . import learning_sessions as memory_learning

    if "if-on" in request.flags:
        if len(request.arguments) != 1 or "past" in request.flags:
            raise flag_parser.UsageError("--if-on takes one transcript")
        memory_learning.if_on(request.arguments[0], request.environ)
        return Answer([], {})
    flags, past, left_out = request.flags, "past" in request.flags, many_sessions.LeftOut()
    try:
        words, where = many_sessions.paths_of(request.arguments, flags), many_sessions.where_of(flags)
        many_sessions.need_packages(words, flags, request.environ)
        if past and words:
            sources = many_sessions.sources_of(words, left_out)
        else:
            paths = memory_learning.transcripts(words, past, request.place, flags.get("host", session_lookup.CLAUDE_CODE))
            sources = [Source(path, os.path.getsize(path) if os.path.exists(path) else 0) for path in paths]
        into = request.place if "project" in flags or (past and not words) else None
        learnt = memory_learning.learn(sources, request.environ, into, Bar(request.environ, "sessions"), where)
    except (session_lookup.NoSession, SourceUnavailable) as error:
        raise Refused(str(error)) from None
    for _, reason in left_out.files:
        learnt.leave_out(reason.rpartition(": ")[2])
    return Answer(views.learnt(learnt.to_json(), request.command), learnt.to_json())


def run_job(request: Request) -> Answer:
    report = request.place.memory.run("force" in request.flags)
    if report is None:
        return Answer(text.wrap(f"The job ran less than an hour ago. {request.command} admin run --force runs it anyway."), {"ran": False})
    request.place.refresh()
    result = report.to_json()
    return Answer(views.ran(result, request.now, request.command), {"ran": True, **result})


def print_document(request: Request) -> Answer:
    budget = request.flags.get("tokens", request.place.tokens)
    if budget > MOST_TOKENS:
        raise flag_parser.UsageError(f"--tokens takes at most {MOST_TOKENS:,}: Claude Code cuts off a longer MEMORY.md without saying so")
    document = request.place.memory.document(budget, request.flags.get("for", ""))
    lines: list[text.Line] = []
    if "why" in request.flags:
        absent = {id for id, _ in document.left_out}
        items = [item for item in request.place.memory.list(marked=None, most=None) if item.id in absent]
        lines = views.left_out(document, items, budget, request.now)
    elif not document.text:
        empty = f"MEMORY.md would be empty. {request.command} admin file --why says why."
        lines = text.wrap(empty if document.left_out else _nothing(request))
    data = {name: value for name, value in vars(document).items() if name != "entries"}
    return Answer(lines, data, "" if "why" in request.flags else document.text)


def loss(request: Request) -> Answer:
    levels = [vars(each) for each in request.place.memory.loss()]
    return Answer(views.loss(levels), {"levels": levels})


def export_items(request: Request) -> Answer:
    lines = request.place.memory.export("all" in request.flags)
    if not request.arguments:
        for line in lines:
            print(line.rstrip("\n"))
        return Answer([])
    path = os.path.abspath(request.arguments[0])
    from . import export_file as memory_export

    count = memory_export.write_lines(path, lines) - 2  # of which the first is the head, the last the end
    return Answer(text.wrap(f"Wrote {units.counted(count, 'item')} to {path}"), {"items": count, "file": path})


def import_items(request: Request) -> Answer:
    from . import export_file as memory_export

    with memory_export.read_lines(request.arguments[0]) as lines:
        try:
            count = request.place.memory.import_lines(lines, "missing" in request.flags)
        except DuplicateId as error:
            raise Refused(f"{error}, so nothing is imported. --missing skips items that are already there") from None
    request.place.refresh()
    return Answer(text.wrap(f"Imported {units.counted(count, 'item')}."), {"items": count})


def verify(request: Request) -> Answer:
    wrong = request.place.memory.store.verify()
    lines = [line for each in wrong for line in text.wrap(f"Broken: {each}", indent="  ")] or ["Everything is as it was written."]
    return Answer(lines, {"ok": not wrong, "broken": wrong}, code=int(bool(wrong)))


def turn(request: Request) -> Answer:
    result = memory_switch.turn(request.word == "on", request.place.site, request.now)
    request.place.refresh()
    return Answer(turned_lines(result, _CALLED), result)


def join(request: Request) -> Answer:
    project = memory_state.project_of(request.place.site.home, request.place.folder, claimed=True)
    owner, joins = project.owner(), "no" not in request.flags
    if not owner:
        raise Refused(f"there is nothing to decide: no other checkout of {text.clean(project.repository.name)} has switched memory on")
    project.decide(joins)
    result = {"joined": joins, "project": project.repository.name, "root": project.repository.claimed_by, "owner": owner}
    return Answer(views.joined(result, request.command), result)


# Words that store something: the others create no store.
_KEEP = ("add", "import", "learn")
# Words about a folder itself: memory cannot be switched on for a missing one.
_HERE = ("on", "off", "join")
