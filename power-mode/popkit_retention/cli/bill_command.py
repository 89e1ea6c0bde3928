"""`popkit bill`: what stands in each prompt of a project before the first word, what that costs, what could go; hide and show tools."""

from __future__ import annotations

import os
import re
import sys
import time

from hooks.utils import text
from hooks.utils.config import layers
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.policy.models import models_of
from hooks.utils.state import standing
from hooks.utils.views import bill as views

from ..bill import digests, statement
from ..bill.project_bill import bill_of, text_of
from ..operations import sessions
from ..parallel.sources import Unavailable
from . import many_sessions, screen
from .answering import Answer, Refused
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.models import Models

    from ..bill.digests import Digest
    from ..parallel.results import Where
    from .many_sessions import LeftOut

MISTAKES = (OSError, StoreError, Unavailable, sessions.NoSession)
_HIDDEN_FROM = "from the next session on, where PopKit's code runs inside Claude Code (2.1.287 or later)"


def run(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Answer one line."""
    now = time.time()
    popkit_home = home.popkit_home(environ)
    project = standing.project_of(popkit_home, os.path.realpath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()))
    models = models_of(layers.load(home.plugin_root(), popkit_home, None))
    if args.word == "draft-skill":
        return _draft(args.argument, args.out, project)
    where = many_sessions.where_of(args.flags)
    if not args.word and (args.arguments or "list" in args.flags or args.host != sessions.CLAUDE_CODE):
        return _of_paths(args, environ, models, where)
    many_sessions.equip((), args.flags, environ)
    since = args.since.ago(now) if not args.word and args.since else now - statement.MONTH_S
    bar = Bar(environ)
    try:
        everything = digests.of_user(environ, 0.0, now, bar.show, where)
    finally:
        bar.end()
    bill = bill_of(popkit_home, project, everything, since, now, models)
    if args.word == "hide":
        return _hide(args, popkit_home, project, bill, now)
    if args.word == "show":
        return _show(args.argument, popkit_home, project, bill)
    return Answer(views.lines_of(bill, now, args.details, _most(args)), bill)


def _of_paths(args: Parsed, environ: Mapping[str, str], models: Models, where: Where) -> Answer:
    """Return the bill of transcripts: what stood in them is known as a whole alone."""
    found, left_out = digests_of(args, environ, where)
    whole = statement.whole(found, models)
    began = [digest["standing"] for digest in found if statement.is_main(digest)]
    lines = views.whole_lines(whole, covered(args), models.dated, began, _most(args)) + left_out.lines()
    return Answer(lines, {"whole": whole, "first_prompt": began, "prices_of": models.dated, "left_out": left_out.to_json()})


def covered(args: Parsed) -> str:
    """Return which sessions the words mean, in words."""
    return "the sessions that you named" if args.arguments or "list" in args.flags else f"all sessions of {sessions.HOSTS[args.host]}"


def _most(args: Parsed) -> int:
    return 0 if args.details else views.MOST_KINDS


def digests_of(args: Parsed, environ: Mapping[str, str], where: Where) -> tuple[list[Digest], LeftOut]:
    """Return the digests of the transcripts that the user named, and what was left out of them."""
    paths, left_out, bar = many_sessions.paths_of(args.arguments, args.flags), many_sessions.LeftOut(), Bar(environ)
    paths = paths or sessions.places_of_host(environ, args.host)
    many_sessions.equip(paths, args.flags, environ)
    try:
        return list(digests.of_sources(many_sessions.sources_of(paths, left_out), bar.show, left_out.add, where)), left_out
    finally:
        bar.end()


# --- hide and show ---------------------------------------------------------------------------------------------------------------------


def _hide(args: Parsed, popkit_home: str, project: str, bill: dict[str, Any], now: float) -> Answer:
    name = args.argument
    known = {one["name"]: one for row in bill["rows"] if row["kind"] == "server" for one in (row, *row["parts"])}
    if _key_of(name, bill["hidden"]):
        return Answer(
            text.wrap(f"{text.clean(name)} is hidden already. To have it back: popkit bill show {text.clean(name)}"), bill["hidden"]
        )
    if name not in known:
        listed = text.listed([text.clean(row["name"]) for row in bill["rows"] if row["kind"] == "server"], 12)
        raise Refused(
            f"no MCP server or tool is called {text.quote(name)} here. "
            + (f"Servers: {listed}" if listed else "Claude Code has named none yet")
        )
    row = known[name]
    if not row["key"]:
        raise Refused(
            f"the tools of {text.clean(name)} have names that do not begin with its own. Hide them one by one: popkit bill --details"
        )
    lines = text.wrap(views.hiding(row, bill["pace"], now) + f" Sessions of {text.clean(project)} do without it {_HIDDEN_FROM}.")
    if not (args.yes or _is_wanted(lines, args)):
        return Answer(
            [*lines, *text.wrap(f"Nothing was changed. To hide it: popkit bill hide {text.clean(name)} --yes")], {"hidden": bill["hidden"]}
        )
    standing.hide(popkit_home, project, row["key"], {"name": name, "tokens": row["tokens"] or row["on_demand"], "at": now})
    return Answer(
        text.wrap(f"{text.clean(name)} is hidden {_HIDDEN_FROM}. To have it back: popkit bill show {text.clean(name)}"),
        {"hidden": standing.hidden(popkit_home, project)},
    )


def _is_wanted(lines: list[text.Line], args: Parsed) -> bool:
    """Ask on a terminal; inside Claude Code, and for a program, nobody is there to answer."""
    if not sys.stdin.isatty() or "json" in args.flags:
        return False
    screen.show(lines, sys.stdout, os.environ)
    return screen.is_confirmed("Hide it?")


def _show(name: str, popkit_home: str, project: str, bill: dict[str, Any]) -> Answer:
    key = _key_of(name, bill["hidden"])
    if not key:
        listed = text.listed([text.clean(row["name"]) for row in bill["hidden"].values()], 12)
        raise Refused(f"{text.quote(name)} is not hidden in this project. " + (f"Hidden: {listed}" if listed else "Nothing is"))
    standing.hide(popkit_home, project, key, None)
    return Answer(
        text.wrap(
            f"{text.clean(name)} is back: in a session that goes on by /popkit bill show, from its next turn on, which may write the prompt"
            " cache again; else from the next session on."
        ),
        {"hidden": standing.hidden(popkit_home, project)},
    )


def _key_of(name: str, hidden: Mapping[str, Any]) -> str:
    return next((key for key, row in hidden.items() if name in (key, row.get("name"))), "")


# --- a draft of a skill ----------------------------------------------------------------------------------------------------------------


def _draft(wanted: str, out: str, project: str) -> Answer:
    """Write a section of a file as a draft of a skill into a new file; the file of the section stays as it is."""
    path, _, heading = wanted.partition("#")
    path = os.path.join(project, os.path.expanduser(path))
    content = text_of(path)
    if content is None:
        raise Refused(f"{path} cannot be read")
    body = statement.section(content, heading)
    if not body:
        known = [text.clean(name) for _, name, _ in statement.sections(content) if name]
        raise Refused(f"{path} has no section {text.quote(heading)}. Sections: {text.listed(known, 20)}")
    if os.path.lexists(out):
        raise Refused(f"{out} is there already, and is left alone. Name a new file")
    name = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:60] or "section"
    draft = f"---\nname: {name}\ndescription: TODO say when this is needed. Claude reads this line alone until it is.\n---\n\n{body}\n"
    with open(out, "x", encoding="utf-8") as file:
        file.write(draft)
    lines = text.wrap(
        f"Wrote {text.clean(out)}. Say in its description when it is needed, and put it at .claude/skills/{name}/SKILL.md. Then take the"
        f" section out of {text.clean(path)} yourself: PopKit does not change that file."
    )
    return Answer(lines, {"written": out, "name": name})
