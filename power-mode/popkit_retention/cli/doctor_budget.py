"""What `popkit doctor` says of limits, database and traces: whether what the configuration asks for can be used, and what waits to be sent.
Changes nothing."""

from __future__ import annotations

import os

from hooks.utils.answers.text import clean, counted
from hooks.utils.config import layers
from hooks.utils.edges import failures, home
from hooks.utils.state import outbox

from . import budget_command, budget_settings, holdings, setup_command
from .check import OK, WARNING, Check
from .statusline_install import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "budget"
_OURS = ("outbox",)  # in the log of hooks
_SEND = "popkit budget send says what hinders it."


def budget(popkit_home: str, environ: Mapping[str, str]) -> Check:
    """Nothing is asked of a database that nobody has asked for."""
    config = layers.load(home.plugin_root(), popkit_home, None)
    waiting = sum(map(_size, (os.path.join(popkit_home, name) for name in (outbox.NAME, outbox.SENDING, outbox.LEFT))))
    context = config.get("context") or {}
    limits = sum(context.get(name) is not None for name in budget_settings.LIMITS)
    facts: dict[str, Any] = {"limits": limits, "waiting_bytes": waiting, "failures": failures.count(popkit_home, _OURS)}
    if not outbox.is_wanted(config, environ):
        return Check(NAME, OK, "no limits and no traces. To set a limit: popkit budget set month_usd=50", **facts)
    if context.get("traces") and not setup_command.place_of("traces", environ):
        return Check(NAME, WARNING, "context.traces is set, but nothing can send them", "popkit setup traces", **facts)
    try:
        found = budget_command.asked({"do": "look"}, environ)
    except (Refused, OSError) as error:
        return Check(NAME, WARNING, clean(str(error)), "Contexts are built without limits, and nothing is booked, until then.", **facts)
    facts["database"] = found["database"]
    said = f"{counted(limits, 'limit')}; {clean(found['database'])}" + ("; traces are sent" if context.get("traces") else "")
    if waiting >= outbox.MOST_BYTES:
        said += f"; {holdings.size(waiting)} wait to be sent, and no more is kept"
        return Check(NAME, WARNING, said, _SEND, **facts)
    said += f"; {holdings.size(waiting)} wait to be sent" if waiting else ""
    if facts["failures"]:
        return Check(NAME, WARNING, f"{said}; {counted(facts['failures'], 'failure')} of it in the log", _SEND, **facts)
    return Check(NAME, OK, said, **facts)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
