"""`popkit lab replay`: the decisions of one policy on a past session, request by request. Reads a transcript; writes only the file that
--out names."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys

from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.rules import OFF
from popkit_retention.core.state import shipped
from popkit_retention.core.text import clean
from popkit_retention.core.units import counted

from ..cli.answering import Refused
from . import outcomes, own_policies, replay_policies
from .arguments import TTLS, check_policies, session_of
from .checked_policies import CheckedPolicy, PolicyFailed
from .door_policy import Door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.policy.economics import Prices

    from . import measure
    from .recorded import Request, Session


_STDOUT = "-"


def write_decisions(args: Words, _environ: Mapping[str, str]) -> int:
    """Write a line for each request, with the results that are cleared before it or enter shorter, and the totals on standard error.
    Refused where the session or the file cannot be used."""
    gc.enable()
    check_policies([args.policy])
    session = session_of(args.argument)
    prices = replay_policies.prices_for(session, TTLS[args.ttl], args.model)
    try:
        _decide(args, session, prices)
    except PolicyFailed as why:
        raise Refused(f"{clean(args.policy)} failed: {clean(str(why))}") from None
    return 0


def _decide(args: Words, session: Session, prices: Prices) -> None:
    policy = chosen = replay_policies.policy_of(args.policy, session, prices)
    if args.say_once or args.shape:
        policy = Door(shipped.rules(), chosen, door.Settings(args.say_once or OFF, args.shape or OFF))
    summary = _written(session, policy, prices, args.out)
    if isinstance(chosen, CheckedPolicy):
        chosen.end()
    print(f"{clean(args.policy)}, {args.ttl} cache, {in_words(prices)}: {summary}", file=sys.stderr)


def in_words(prices: Prices) -> str:
    """Return the prices of a calculation in words."""
    model = clean(prices.model) or "an unknown model"
    unknown = "" if replay_policies.has_price(prices.model) else ", whose price is not known: decided as with the most cautious ones"
    bound = ", thinking bound" if prices.bound else ""
    return f"{model}{unknown} (read {prices.read:g}, write {prices.write:g}, output {prices.output:g}{bound})"


def replay(session: Session, policy: measure.Policy, prices: Prices, file: TextIO) -> str:
    """Write the decisions of a policy as JSON lines, one by one; return the totals in words. OSError where it cannot write."""

    def write(request: Request, decisions: list, entered: list) -> None:
        clear, inputs, whole = [], [], []
        for block, content, reasons in decisions:
            if not block.id:
                inputs.append({"id": block.asks, "input": content, "reasons": list(reasons)})
            elif content == block.text:
                whole.append({"id": block.id, "reasons": list(reasons)})
            else:
                clear.append({"id": block.id, "placeholder": content, "reasons": list(reasons)})
        line: dict[str, object] = {"before_message_id": request.message_id, "request": request.number, "clear": clear}
        line.update({name: items for name, items in (("inputs", inputs), ("whole", whole)) if items})
        if entered:
            line["once"] = [{"id": block.id, "content": text} for block, text in entered]
        file.write(json.dumps(line) + "\n")
        file.flush()

    came = outcomes.outcome_of(session, policy, prices, write)
    total, cost, carried = came.total, came.cost, came.carried
    cleared = (
        f"{counted(total.requests, 'request')}, {total.cleared:,} of {total.results:,} results cleared ({total.cleared_tokens:,} tokens)"
    )
    if total.shortened:
        cleared += f", {total.spared_tokens:,} tokens of {counted(total.shortened, 'result')} kept out"
    if cost is None or carried is None:
        return cleared
    return f"{cleared}, {total.missed:,} missed; against clearing nothing cost {cost:.3f}, carried {carried:.3f}"


def _written(session: Session, policy: measure.Policy, prices: Prices, out: str) -> str:
    try:
        with _opened(out, session.path) as file, own_policies.printing_to_stderr():
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
