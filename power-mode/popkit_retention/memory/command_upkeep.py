"""The upkeep of long-term memory by `popkit memory`: learning, the job, exports, imports, checks, the switch."""

from __future__ import annotations

import os

from popkit_retention.core import flag_parser, text, units
from popkit_retention.core.operations import memory_switch
from popkit_retention.core.state import memory as memory_state
from popkit_retention.core.views.memory_in_session import turned_lines

from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from . import views
from .stores.protocol import DuplicateId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .command import Request

_CALLED = "popkit context"  # which reaches all words that `on` and `off` name


def learn(request: Request) -> Answer:
    from ..operations import many_sessions, session_lookup
    from ..parallel.sources import Source, SourceUnavailable
    from . import learning_sessions as memory_learning

    if "if-on" in request.flags:
        if len(request.arguments) != 1 or "past" in request.flags:
            raise flag_parser.UsageError("--if-on takes one transcript")
        memory_learning.if_on(request.arguments[0], request.environ)
        return Answer([], {})
    flags, past, left_out = request.flags, "past" in request.flags, many_sessions.Omissions()
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

    memory = request.place.memory
    there = len(list(memory.store.scan(memory.project, bare=True)))
    with memory_export.read_lines(request.arguments[0]) as lines:
        try:
            count = memory.import_lines(lines, "missing" in request.flags, "project" in request.flags)
        except DuplicateId as error:
            raise Refused(f"{error}, so nothing is imported. --missing skips items that are already there") from None
    request.place.refresh()
    others = count + there - len(list(memory.store.scan(memory.project, bare=True)))
    elsewhere = f" {others:,} of other projects: --project . imports those of one project here" * bool(others)
    said = f"Imported {units.counted(count, 'item')}.{elsewhere}"
    return Answer(text.wrap(said), {"items": count})


def verify(request: Request) -> Answer:
    wrong = request.place.memory.store.verify()
    lines = [line for error in wrong for line in text.wrap(f"Broken: {error}", indent="  ")] or ["Everything is as it was written."]
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
