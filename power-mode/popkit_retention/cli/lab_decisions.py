"""`popkit lab --decisions`: what a policy would have cleared in one past session, and what would have entered, request by request.

Reads the transcript, writes the decisions."""

from __future__ import annotations

import contextlib
import json
import os
import sys

from hooks.utils.policy import door
from hooks.utils.state import shipped
from hooks.utils.text import clean, counted

from ..lab import loading, outcomes, policies
from ..lab import sessions as lab_sessions
from ..lab.engine_policies import Door
from ..lab.policies import Checked, Failed
from ..operations import sessions
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.economics import Prices

    from ..lab import measure
    from ..lab.policy import Request, Session

TTLS = {"5m": 300, "1h": 3_600}
_STDOUT = "-"
_MESSAGE = 60  # characters of an error


def run(args: Parsed) -> int:
    """Write a line for each request, with what is cleared before it and what enters shorter, and on standard error what that came to;
    Refused when it cannot."""
    check([args.policy])
    session = read(args.argument)
    prices = policies.prices_for(session, TTLS[args.ttl], args.model)
    try:
        _decide(args, session, prices)
    except Failed as why:
        raise Refused(f"{clean(args.policy)} failed: {clean(str(why))}") from None
    return 0


def _decide(args: Parsed, session: Session, prices: Prices) -> None:
    policy = chosen = policies.made(args.policy, session, prices)
    if args.say_once or args.shape:
        policy = Door(shipped.rules(), chosen, door.Settings(args.say_once or door.OFF, args.shape or door.OFF))
    summary = _written(session, policy, prices, args.out)
    if isinstance(chosen, Checked):
        chosen.end()
    print(f"{clean(args.policy)}, {args.ttl} cache, {in_words(prices)}: {summary}", file=sys.stderr)


def in_words(prices: Prices) -> str:
    """Return the prices of a calculation in words."""
    whose = clean(prices.model) or "an unknown model"
    unknown = "" if prices.known else ", which the table of models does not name"
    bound = ", thinking bound" if prices.bound else ""
    return f"{whose}{unknown} (read {prices.read:g}, write {prices.write:g}, output {prices.output:g}{bound})"


def replay(session: Session, policy: measure.Policy, prices: Prices, file: TextIO) -> str:
    """Write the decisions of a policy as JSON lines while it goes; return in words what they came to. OSError when it cannot write."""

    def write(request: Request, decisions: list, entered: list) -> None:
        clear = [
            {"id": block.id, "placeholder": placeholder, "reasons": list(reasons)} for block, placeholder, reasons in decisions if block.id
        ]
        line = {"before_message_id": request.message_id, "request": request.number, "clear": clear}
        if entered:
            line["once"] = [{"id": block.id, "content": text} for block, text in entered]
        file.write(json.dumps(line) + "\n")
        file.flush()

    came = outcomes.outcome_of(session, policy, prices, write)
    total, cost, carried = came.total, came.cost, came.carried
    cleared = f"{total.requests:,} requests, {total.cleared:,} of {total.results:,} results cleared ({total.cleared_tokens:,} tokens)"
    if total.shortened:
        cleared += f", {total.spared_tokens:,} tokens of {counted(total.shortened, 'result')} kept out"
    if cost is None or carried is None:
        return cleared
    return f"{cleared}, {total.missed:,} missed; against clearing nothing cost {cost:.3f}, carried {carried:.3f}"


def check(names: Iterable[str]) -> None:
    """Refuse names of policies that do not exist, before the long run."""
    try:
        for name in names:
            policies.described(name)
    except loading.Unusable as error:
        raise Refused(clean(str(error))) from None


def read(path: str) -> Session:
    """Return a session with the handles that a live clear would give. Refused where it cannot be read."""
    try:
        sessions.check(path)
        session = lab_sessions.read(path)
        lab_sessions.name_handles(session)
        return session
    except sessions.NoSession as error:
        raise Refused(str(error)) from None
    except OSError as error:
        raise Refused(f"{clean(path)}: cannot be read: {clean(error.strerror or str(error))}") from None
    except Exception as error:  # noqa: BLE001  a file may hold anything; the lab leaves it out
        raise Refused(f"{clean(path)}: could not be read: {type(error).__name__} {clean(str(error))[:_MESSAGE]}".rstrip()) from None


def _written(session: Session, policy: measure.Policy, prices: Prices, out: str) -> str:
    try:
        with _opened(out, session.path) as file, loading.printing_to_stderr():
            return replay(session, policy, prices, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refused(f"{clean(out)}: cannot be written: {clean(error.strerror or str(error))}") from None


def _opened(out: str, transcript: str) -> contextlib.AbstractContextManager[TextIO]:
    """Return where the decisions go, open for writing; never the transcript itself."""
    if out == _STDOUT:
        return contextlib.nullcontext(sys.stdout)
    if "\0" in out:
        raise Refused(f"{clean(out)}: is not a file name")
    if os.path.exists(out) and os.path.samefile(out, transcript):
        raise Refused(f"{clean(out)}: is the transcript itself")
    return open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="utf-8")
