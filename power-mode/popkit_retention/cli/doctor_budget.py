"""What `popkit doctor` says of limits, database and traces: whether what the configuration asks for can be used. Changes nothing."""

from __future__ import annotations

import json
import subprocess

from hooks.utils.config import layers
from hooks.utils.edges import children, home
from hooks.utils.text import clean, counted

from ..usage import opening, sharing
from ..usage.store import DatabaseUnavailable
from . import budget_settings, setup_command
from .check import OK, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "budget"


def budget(popkit_home: str, environ: Mapping[str, str]) -> Check:
    """Nothing is asked of a database that nobody has asked for."""
    config = layers.load(home.plugin_root(), popkit_home, None)
    context = config.get("context") or {}
    limits = sum(context.get(name) is not None for name in budget_settings.LIMITS)
    facts: dict[str, Any] = {"limits": limits, "waiting": 0}
    if not opening.is_asked_for(context, environ) and not context.get("traces"):
        return Check(NAME, OK, "no limits and no traces. To set a limit: popkit budget set month_usd=50", **facts)
    if context.get("traces") and not setup_command.place_of("traces", environ):
        return Check(NAME, WARNING, "context.traces is set, but nothing can send them", "popkit setup traces", **facts)
    try:
        facts["waiting"] = _waiting(environ)
        facts["database"] = _look(environ)
    except (DatabaseUnavailable, OSError) as error:
        return Check(NAME, WARNING, clean(str(error)), "Contexts are built without limits, and nothing is booked, until then.", **facts)
    said = f"{counted(limits, 'limit')}; {clean(facts['database'])}" + ("; traces are sent" if context.get("traces") else "")
    said += f"; {counted(facts['waiting'], 'request')} to be sent there with the next popkit budget" if facts["waiting"] else ""
    return Check(NAME, OK, said, **facts)


def _look(environ: Mapping[str, str]) -> str:
    """Return what a person calls the database; DatabaseUnavailable where it cannot be used. Another interpreter may have its driver."""
    if opening.server_in(environ) is None:
        return opening.look(environ)
    command = children.command_line(["budget", "--check", "--json"])
    done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603  ours
    try:
        answer = json.loads(done.stdout)
        if "error" not in answer:
            return str(answer["database"])
    except (ValueError, KeyError):
        answer = {"error": (done.stderr.strip().splitlines() or ["popkit budget said nothing"])[-1]}
    raise DatabaseUnavailable(answer["error"])


def _waiting(environ: Mapping[str, str]) -> int:
    """Return how many requests a server has yet to be told of."""
    if opening.server_in(environ) is None:
        return 0
    try:
        return sharing.waiting(opening.open_local(environ, create=False))
    except FileNotFoundError:
        return 0
