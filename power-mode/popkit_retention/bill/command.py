"""`popkit bill`: what each prompt of a project contains before the first word, what that costs,
and what could be removed; hide, defer, show tools. `bill misses`: which requests wrote again what the previous one had left in the prompt
cache, why, and what that cost. `bill limits`: how full the plan's limits are, when they will be full, and what used them."""

from __future__ import annotations

import os
import re
import sys
import time

from hooks.utils import text
from hooks.utils.config import layers
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.io.system import now as time_of_day
from hooks.utils.policy.limits import LENGTHS_S, windows
from hooks.utils.policy.models import models_of
from hooks.utils.state import hidden_tools, limit_readings
from hooks.utils.views import bill as views
from hooks.utils.views import cache_lifetime, paid_for

from ..cli import terminal
from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from ..operations import many_sessions, session_lookup
from ..parallel.sources import SourceUnavailable
from . import costs, digests, paid, statement
from . import views as spending
from .limit_window import took
from .paid import MONTH_S
from .prompt_rows import section, sections
from .records import Digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.limits import Window
    from hooks.utils.policy.models import Models

    from .records import Digest

MISTAKES = (OSError, StoreError, SourceUnavailable, session_lookup.NoSession)
# word -> (the state of the tool, the consequence)
_OUT = {
    "hide": ("hidden", "Sessions of {project} do without it"),
    "defer": ("deferred", "In sessions of {project} it stays out of the prompt until Claude looks for it"),
}
_FROM = "from the next session on, where PopKit's code runs inside Claude Code (2.1.326 or later)"


class _Asked:
    """The project that an operation is about, and its bill."""

    __slots__ = ("bill", "now", "popkit_home", "project")

    def __init__(self, args: Parsed, environ: Mapping[str, str], since: float | None = None) -> None:
        self.now = time.time()
        self.popkit_home = home.popkit_home(environ)
        self.project = _project_of(self.popkit_home, environ)
        models = _models(self.popkit_home)
        since = self.now - MONTH_S if since is None else since
        used = _digests_since(0.0, args, environ, self.now)
        self.bill = statement.bill_of(self.popkit_home, self.project, used, since, self.now, models)


def _project_of(popkit_home: str, environ: Mapping[str, str]) -> str:
    return hidden_tools.project_of(popkit_home, os.path.realpath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()))


def whole(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Return the bill of this project, or of the sessions that the user named."""
    if _names_sessions(args):
        return _bill_of_sessions(args, environ, _models(home.popkit_home(environ)))
    asked = _Asked(args, environ, args.since.ago(time.time()) if args.since else None)
    return Answer(views.lines_of(asked.bill, asked.now, args.details, _most(args)), asked.bill)


def misses(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Do `popkit bill misses`."""
    now, left_out = time.time(), many_sessions.LeftOut()
    if _names_sessions(args):
        used, left_out = _digests_named(args, environ)
        period = _covered(args)
    else:
        since = args.since.ago(now) if args.since else now - MONTH_S
        used = _digests_since(since, args, environ, now)
        period = "sessions since " + time.strftime("%Y-%m-%d", time.localtime(since))
    models = _models(home.popkit_home(environ))
    lost = costs.misses(used, models)
    data = {**lost, "prices_of": models.dated, "left_out": left_out.to_json()}
    return Answer(spending.misses(lost, period, models.dated) + left_out.lines(), data)


def _bill_of_sessions(args: Parsed, environ: Mapping[str, str], models: Models) -> Answer:
    """Return the bill of the sessions that the user named, in which what stood before the first word is known only as a whole."""
    used, left_out = _digests_named(args, environ)
    whole = paid.whole(used, models)
    began = [digest["standing"] for digest in used if statement.is_main(digest)]
    lifetime = statement.cache_lifetime(used, models, not limit_readings.readings(home.popkit_home(environ)), float("inf"))
    lines = (
        paid_for.whole_lines(whole, _covered(args), models.dated, began, _most(args))
        + cache_lifetime.lifetime_lines(lifetime)
        + left_out.lines()
    )
    return Answer(
        lines,
        {"whole": whole, "cache_lifetime": lifetime, "first_prompt": began, "prices_of": models.dated, "left_out": left_out.to_json()},
    )


def _most(args: Parsed) -> int:
    return 0 if args.details else paid_for.MOST_KINDS


# --- which sessions ---


def _models(popkit_home: str) -> Models:
    return models_of(layers.load(home.plugin_root(), popkit_home, None))


def _names_sessions(args: Parsed) -> bool:
    """Return whether the words mean other sessions than this user's of Claude Code."""
    return bool(args.arguments) or "list" in args.flags or args.host != session_lookup.CLAUDE_CODE


def _covered(args: Parsed) -> str:
    """Return which sessions the words mean, in words."""
    return "the sessions that you named" if args.arguments or "list" in args.flags else f"all sessions of {session_lookup.HOSTS[args.host]}"


def _digests_named(args: Parsed, environ: Mapping[str, str]) -> tuple[list[Digest], many_sessions.LeftOut]:
    """Return the digests of the transcripts that the user named, and the ones that were left out."""
    left_out, where = many_sessions.LeftOut(), many_sessions.where_of(args.flags)
    paths = many_sessions.paths_of(args.arguments, args.flags) or session_lookup.places_of_host(environ, args.host)
    many_sessions.need_packages(paths, args.flags, environ)
    with Bar(environ) as bar:
        return list(digests.of_sources(many_sessions.sources_of(paths, left_out), bar.show, left_out.add, where)), left_out


def _digests_since(since: float, args: Parsed, environ: Mapping[str, str], now: float) -> list[Digest]:
    """Return the digests of this user's sessions that were active since a time (seconds)."""
    where = many_sessions.where_of(args.flags)
    many_sessions.need_packages((), args.flags, environ)
    with Bar(environ) as bar:
        return digests.of_user(environ, since, now, bar.show, where)


# --- hide, defer and show ---


def take_out(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Hide or defer a server or tool, on a yes."""
    asked = _Asked(args, environ)
    popkit_home, project, bill, now = asked.popkit_home, asked.project, asked.bill, asked.now
    name, (is_so, what_follows) = args.argument, _OUT[args.word]
    known = {one["name"]: one for row in bill["rows"] if row["kind"] == "server" for one in (row, *row["parts"])}
    before = _key_of(name, bill["hidden"])
    if before and bool(bill["hidden"][before].get("defer")) == (args.word == "defer"):
        return Answer(
            text.wrap(f"{text.clean(name)} is {is_so} already. To bring it back: popkit bill show {text.clean(name)}"), bill["hidden"]
        )
    if before:
        raise Refused(f"{text.clean(name)} is hidden or deferred already. First run: popkit bill show {text.clean(name)}")
    if name not in known:
        listed = text.listed([text.clean(row["name"]) for row in bill["rows"] if row["kind"] == "server"], 12)
        known_ones = f"Servers: {listed}" if listed else "Claude Code has named none yet"
        raise Refused(f"no MCP server or tool is called {text.quote(name)} here. {known_ones}")
    row = known[name]
    if not row["key"]:
        raise Refused(
            f"the tools of {text.clean(name)} have names that do not begin with its own. Name them one by one: popkit bill --details"
        )
    follows = what_follows.format(project=text.clean(project))
    lines = text.wrap(f"{views.hiding(row, bill['pace'], now)} {follows} {_FROM}.")
    if not (args.yes or _is_wanted(lines, args)):
        again = f"Nothing was changed. To {args.word} it: popkit bill {args.word} {text.clean(name)} --yes"
        return Answer([*lines, *text.wrap(again)], {"hidden": bill["hidden"]})
    entry = {"name": name, "tokens": row["tokens"] or row["on_demand"], "at": now, **({"defer": True} if args.word == "defer" else {})}
    hidden_tools.hide(popkit_home, project, row["key"], entry)
    return Answer(
        text.wrap(f"{text.clean(name)} is {is_so} {_FROM}. To bring it back: popkit bill show {text.clean(name)}"),
        {"hidden": hidden_tools.hidden(popkit_home, project)},
    )


def _is_wanted(lines: list[text.Line], args: Parsed) -> bool:
    """Ask on a terminal; return False inside Claude Code and for a program, where no user can answer."""
    if not sys.stdin.isatty() or "json" in args.flags:
        return False
    terminal.write_view(lines, sys.stdout, os.environ)
    return terminal.is_confirmed(f"{args.word.capitalize()} it?")


def bring_back(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Show a hidden or deferred server or tool again."""
    asked = _Asked(args, environ)
    name, popkit_home, project, bill = args.argument, asked.popkit_home, asked.project, asked.bill
    key = _key_of(name, bill["hidden"])
    if not key:
        listed = text.listed([text.clean(row["name"]) for row in bill["hidden"].values()], 12)
        raise Refused(f"{text.quote(name)} is neither hidden nor deferred here. " + (f"These are: {listed}" if listed else "Nothing is"))
    hidden_tools.hide(popkit_home, project, key, None)
    back = "from the next session on. Until then Claude finds it when it looks for a tool."
    if not bill["hidden"][key].get("defer"):
        back = (
            "in a running session by /popkit bill show, from its next turn on, which may write the prompt cache again; otherwise from the"
            " next session on."
        )
    return Answer(text.wrap(f"{text.clean(name)} is back: {back}"), {"hidden": hidden_tools.hidden(popkit_home, project)})


def _key_of(name: str, hidden: Mapping[str, Any]) -> str:
    return next((key for key, row in hidden.items() if name in (key, row.get("name"))), "")


# --- a draft of a skill ---


def draft_skill(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Write a section of a file as a draft of a skill into a new file; the file of the section stays as it is."""
    path, _, heading = args.argument.partition("#")
    out = args.out
    path = os.path.join(_project_of(home.popkit_home(environ), environ), os.path.expanduser(path))
    content = statement.text_of(path)
    if content is None:
        raise Refused(f"{path} cannot be read")
    body = section(content, heading)
    if not body:
        known = [text.clean(name) for _, name, _ in sections(content) if name]
        raise Refused(f"{path} has no section {text.quote(heading)}. Sections: {text.listed(known, 20)}")
    if os.path.lexists(out):
        raise Refused(f"{out} exists already, and is left alone. Name a new file")
    name = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:60] or "section"
    draft = f"---\nname: {name}\ndescription: TODO say when this is needed. Claude reads this line alone until it is.\n---\n\n{body}\n"
    with open(out, "x", encoding="utf-8") as file:
        file.write(draft)
    lines = text.wrap(
        f"Wrote {text.clean(out)}. Say in its description when it is needed, and put it at .claude/skills/{name}/SKILL.md. Then take the"
        f" section out of {text.clean(path)} yourself: PopKit does not change that file."
    )
    return Answer(lines, {"written": out, "name": name})


# --- limits of the plan ---


def limits(_args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Do `popkit bill limits`: read the readings that the helper has stored, and the transcripts that have changed since the last time."""
    now, popkit_home = time_of_day(environ), home.popkit_home(environ)
    readings = limit_readings.readings(popkit_home)
    running = windows(readings, now)
    begins = [began for began in map(_began, running) if began is not None]
    used: list[Digest] = []
    if begins:
        with Bar(environ) as bar:
            used = digests.of_user(environ, min(begins), now, bar.show)
    models = _models(popkit_home)
    answer = {
        "last_reading_at": max((reading.at for reading in readings), default=None),
        "prices_of": models.dated,
        "windows": [_as_data(window, used, models) for window in running],
    }
    return Answer(spending.windows(answer, now), answer)


def _began(window: Window) -> float | None:
    newest = window.newest
    length = LENGTHS_S.get(newest.kind)
    return newest.resets_at - length if length and newest.resets_at else None


def _as_data(window: Window, used: list[Digest], models: Models) -> dict[str, Any]:
    newest, began = window.newest, _began(window)
    return {
        "kind": newest.kind, "percent": newest.percent, "at": newest.at, "percent_per_hour": window.pace, "full_at": window.full_at,
        "resets_at": newest.resets_at or None, "began": began, "took": None if began is None else took(used, began, models),
    }  # fmt: skip
