"""`popkit bill hide`, `defer`, `show`: which servers or tools the prompts of a project contain."""

from __future__ import annotations

import os
import sys

from popkit_retention.core import text, units
from popkit_retention.core.state import hidden_tools
from popkit_retention.core.views import bill as views

from ..cli import terminal
from ..cli.answering import Answer, Refused
from .chosen_digests import models_of_user
from .project_bill import ProjectBill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.state.hidden_tools import HiddenTool
    from popkit_retention.core.views.shapes import Bill


# word -> (the state of the tool, the consequence)
_OUT = {
    "hide": ("hidden", "Sessions of {project} do without it"),
    "defer": ("deferred", "In sessions of {project} it stays out of the prompt until Claude looks for it"),
}
_FROM = "from the next session on, where PopKit's code runs inside Claude Code (2.1.326 or later)"
_NOW = "from the next request of the session in which you type this as /popkit bill hide"


def take_out(args: Words, environ: Mapping[str, str]) -> Answer:
    """Hide or defer a server or tool, once the user agrees."""
    subject = ProjectBill(args, environ)
    popkit_home, project, bill, now = subject.popkit_home, subject.project, subject.bill, subject.now
    name, (state, consequence) = args.argument, _OUT[args.word]
    known = {tool["name"]: tool for row in bill["rows"] if row["kind"] == "server" for tool in (row, *row["parts"])}
    before = _key_of(name, bill["hidden"])
    if before and bool(bill["hidden"][before].get("defer")) == (args.word == "defer"):
        return Answer(
            text.wrap(f"{text.clean(name)} is {state} already. To bring it back: popkit bill show {text.clean(name)}"), bill["hidden"]
        )
    if before:
        raise Refused(f"{text.clean(name)} is hidden or deferred already. First run: popkit bill show {text.clean(name)}")
    if name not in known:
        listed = text.listed([text.clean(row["name"]) for row in bill["rows"] if row["kind"] == "server"], 12)
        known_ones = f"Servers: {listed}" if listed else "Claude Code has reported none here"
        for kind in ("skills", "agents"):
            if any(name == part["name"] for row in bill["rows"] if row["kind"] == kind for part in row["parts"]):
                raise Refused(f"{text.quote(name)} is one of the {kind}. Only MCP servers and their tools can be {state}. {known_ones}")
        raise Refused(f"no MCP server or tool is called {text.quote(name)}, and only those can be {state}. {known_ones}")
    row = known[name]
    if not row["key"]:
        raise Refused(
            f"the tools of {text.clean(name)} have names that do not begin with its own. Name them one by one: popkit bill --details"
        )
    is_now = "now" in args.flags
    follows = f"{consequence.format(project=text.clean(project))} {_NOW if is_now else _FROM}."
    lines = text.wrap(f"{views.hiding(row, bill['pace'], now)} {follows}{_price_of(bill, popkit_home) if is_now else ''}")
    if not (args.yes or _is_confirmed(lines, args)):
        again = f"Nothing was changed. To {args.word} it: popkit bill {args.word} {text.clean(name)}{' --now' * is_now} --yes"
        return Answer([*lines, *text.wrap(again)], {"hidden": bill["hidden"]})
    entry: HiddenTool = {"name": name, "tokens": row["tokens"] or row["on_demand"], "at": now}
    if args.word == "defer":
        entry["defer"] = True
    hidden_tools.hide(popkit_home, project, row["key"], entry)
    return Answer(
        text.wrap(f"{text.clean(name)} is {state} {_NOW if is_now else _FROM}. To bring it back: popkit bill show {text.clean(name)}"),
        {"hidden": hidden_tools.hidden(popkit_home, project)},
    )


def _price_of(bill: Bill, popkit_home: str) -> str:
    """Return what it costs a running session that its prompt changes at the beginning."""
    tokens = bill["tokens"] + sum(row["tokens"] for row in bill["messages"]["rows"])
    model = models_of_user(popkit_home).model(bill["estimated"]["model"] or "")
    usd, _ = model.usd(tokens)
    words = f" The prompt, about {units.long_tokens(tokens).lstrip('~')}, is written to the cache again"
    short, hour = (tokens * (write - model.read) * (usd or 0.0) / 1e6 for write in (model.write_5m, model.write_1h))
    return words + (f": ${short:,.2f} more than reading it, ${hour:,.2f} where the cache lives an hour." if usd else ".")


def _is_confirmed(lines: list[text.Line], args: Words) -> bool:
    """Ask on a terminal. Return False inside Claude Code or for a program, where no user can answer."""
    if not sys.stdin.isatty() or "json" in args.flags:
        return False
    terminal.write_view(lines, sys.stdout, os.environ)
    return terminal.is_confirmed(f"{args.word.capitalize()} it?")


def bring_back(args: Words, environ: Mapping[str, str]) -> Answer:
    """Show a hidden or deferred server or tool again."""
    subject = ProjectBill(args, environ)
    name, popkit_home, project, bill = args.argument, subject.popkit_home, subject.project, subject.bill
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


def _key_of(name: str, hidden: Mapping[str, HiddenTool]) -> str:
    return next((key for key, row in hidden.items() if name in (key, row["name"])), "")
