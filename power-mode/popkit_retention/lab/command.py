"""`popkit lab`: what past sessions would have saved, cost and missed under each policy; `popkit lab replay`: what one policy would have
cleared and let in, request by request. Reads transcripts; writes only the files that --parquet and --out name. Exit 0, or 1 when
there is nothing to show."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from contextlib import nullcontext

from hooks.utils import text, units
from hooks.utils.policy import door
from hooks.utils.policy.door.rules import OFF
from hooks.utils.policy.ruleset import AUTO_MISSES
from hooks.utils.state import shipped
from hooks.utils.text import clean
from hooks.utils.units import counted

from ..cli import terminal
from ..cli.answering import Refused
from ..cli.commands import version
from ..cli.terminal import Bar
from ..operations import many_sessions, session_lookup
from ..parallel.sources import SourceUnavailable
from . import outcomes, own_policies, parquet_rows, replay_policies, sent_requests, survey
from .checked_policies import Checked, PolicyFailed
from .door_policy import Door
from .survey import BOUND_REQUESTS
from .survey_card import DIGEST_CHARS, card_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import TextIO

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.economics import Prices

    from ..parallel.results import Workplace
    from . import measure
    from .recorded import Request, Session


TTLS = {"5m": 300, "1h": 3_600}
_TTL_IN_WORDS = {"300": "5 minutes", "3600": "1 hour"}
_NAME = 22
_REASONS = 5  # at most, of each policy that failed
MISTAKES = (SourceUnavailable, session_lookup.NoSession)


def compare(args: Parsed, environ: Mapping[str, str]) -> int:
    """Compare the policies over past sessions; Refused."""
    gc.enable()  # a long run, unlike other commands
    check_policies(args.policy or ())
    if args.model and not replay_policies.has_price(args.model):
        raise Refused(f"{clean(args.model)}: the table of models has no price for it")
    if args.parquet:
        check_writable(args.parquet)
    paths, where = _sources_of(args, environ)
    with Bar(environ) as bar, _parquet(args.parquet) as table:
        result = survey.survey(paths, args.policy, _ttls(args), where.jobs, bar.show, args.model, where.scheduler, table)
    result["card"] = card_of(result, version())
    if args.json:
        print(json.dumps(result))
    else:
        terminal.write_view(lines_of(result), sys.stdout, environ)
    if not result["sessions"]:
        return 1
    if args.parquet:
        print(f"popkit lab: the table is {text.clean(os.path.abspath(args.parquet))}", file=sys.stderr)
    return 0


def _ttls(args: Parsed) -> list[int]:
    return list(TTLS.values()) if args.ttl == "both" else [TTLS[args.ttl]]


def _sources_of(args: Parsed, environ: Mapping[str, str]) -> tuple[list[str], Workplace]:
    """Return the places of the sessions, and where to work on them. NoSession where the host has none."""
    paths, where = many_sessions.paths_of(args.arguments, args.flags), many_sessions.where_of(args.flags)
    many_sessions.need_packages(paths, args.flags, environ)
    return paths or session_lookup.places_of_host(environ, args.host), where


def _parquet(path: str | None) -> AbstractContextManager[parquet_rows.Parquet | None]:
    if not path:
        return nullcontext()
    return parquet_rows.Parquet(path)


def lines_of(result: dict) -> list[text.Line]:
    """Return the survey as a table for each lifetime of the cache: what is installed first, then the cheapest policy."""
    repositories = "1 repository" if result["repositories"] == 1 else f"{result['repositories']:,} repositories"
    counts = [units.counted(result["sessions"], "session"), repositories]
    lines = text.title("Past sessions under each policy")
    lines.append(f"{', '.join(counts)}, {units.counted(result['requests'], 'request')}; {_megabytes(result)}")
    if result["sessions"]:
        lines += text.wrap(_priced(result))
    for ttl_s, scores in result["ttls"].items():
        lines += ["", *text.wrap(f"Prompt cache of {_TTL_IN_WORDS[ttl_s]}; cost and carried tokens against clearing nothing")]
        lines.append(_row(" ", "policy", ("cost", "carried", "misses/100", "dearer", "cleared")))
        for name, one in sorted(scores.items(), key=order):
            shares = (f"{one['dearer']:.1%}", f"{one['cleared_share']:.1%}")
            figures = (f"{one['cost']:.3f}", f"{one['carried']:.3f}", f"{one['misses_per_100']:.2f}", *shares)
            lines.append(_row("►" if name in replay_policies.INSTALLED else " ", text.clean(own_policies.shown(name)), figures))
        lines += _look_ups(scores)
    if result["ttls"]:
        missed = "misses/100: results needed again after they were cleared, or lost in a compaction, per 100 requests."
        lines += ["", *text.wrap(missed, indent="  ")]
        lines += text.wrap("dearer: sessions that cost more than without clearing. cleared: results that left.", indent="  ")
        lines += text.wrap("nothing: the session as it was, with the host's compactions and what these cost.", indent="  ")
    lines += _failed(result)
    lines += many_sessions.left_out_lines(result["skipped"], result["skipped_files"])
    if not result["skipped"] and not result["sessions"]:
        lines += ["", "No transcripts there: give files or folders of *.jsonl."]
    return lines + (_card(result["card"]) if result["sessions"] else [])


def _look_ups(scores: dict) -> list[text.Line]:
    """Return what is installed costs in look-ups, and how often that keeps within the bound."""
    installed = [(name, scores[name]) for name in replay_policies.INSTALLED if name in scores]
    each = ", ".join(
        f"{name} {one['look_ups_per_100']:.2f} (at most {AUTO_MISSES} in {one['within_bound']:.0%} of sessions of {BOUND_REQUESTS} or more)"
        for name, one in installed
    )
    return text.wrap(f"Look-ups because of PopKit in 100 requests: {each}", indent="  ") if installed else []


def order(policy: tuple[str, dict]) -> tuple[int, float, str]:
    """Return the key by which tables list policies with their figures: what is installed first, then the cheapest."""
    name, one = policy
    installed = replay_policies.INSTALLED
    return installed.index(name) if name in installed else len(installed), one["cost"], name


def _row(mark: str, name: str, figures: tuple[str, ...]) -> text.Line:
    """Return a policy with its figures beside it; below it where a terminal is too narrow for that."""

    def cells(widths: tuple[int, ...]) -> str:
        return "".join(f"{figure:>{width}}" for figure, width in zip(figures, widths))

    def lines(columns: int) -> list[str]:
        if columns >= text.WIDTH:
            return [f"{mark} {text.pad(name, _NAME)}{cells((7, 9, 12, 8, 9))}"]
        return [text.cut(f"{mark} {name}", columns), cells((6, 8, 11, 7, 8))]

    return lines


def _failed(result: dict) -> list[text.Line]:
    """Return in how many sessions the user's own policies failed, and why."""
    lines: list[text.Line] = []
    for name, reasons in result["failed"].items():
        sessions = units.counted(sum(reasons.values()), "session")
        message = f"{text.clean(own_policies.shown(name))} failed in {sessions}. It counts there as if it had cleared nothing:"
        lines += ["", *text.wrap(message)]
        for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_REASONS]:
            lines += text.wrap(f"  {count:>6,}  {text.clean(reason)}", indent=" " * 10)
        if len(reasons) > _REASONS:
            lines.append(f"          and {units.counted(len(reasons) - _REASONS, 'other reason')}; --json has all")
    return lines


def _card(card_: dict) -> list[text.Line]:
    """Return a card of the conditions under which another run gives the same figures."""
    parts = [f"popkit {card_['popkit']}"]
    parts += [f"{name} {card_[name][:DIGEST_CHARS]}" for name in ("engine", "corpus", "results")]
    parts += [f"{text.clean(name)} {digest[:DIGEST_CHARS]}" for name, digest in card_["policies"].items()]
    note = "With the same engine, prices and corpus, the results are the same; --json has this in full."
    return ["", *text.wrap(f"Card: {' · '.join(parts)}", indent="  "), *text.wrap(note, indent="  ")]


def _priced(result: dict) -> str:
    """Return the prices of the calculation, in words."""
    of = f", as of {result['dated']}" if result["dated"] else ""
    if result["model"]:
        return f"At the prices of {text.clean(result['model'])}{of}."
    models = [text.clean(model) or "unknown" for model in sorted(result["models"], key=lambda model: -result["models"][model])]
    return f"At the prices of the models that answered them{of}: {text.listed(models, 3)}."


def _megabytes(result: dict) -> str:
    return f"{result['bytes'] / 1e6:,.1f} MB in {units.span(result['seconds'])}"


def check_writable(path: str) -> None:
    """Refuse, before the long run, a file that cannot be written after it."""
    if os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        raise Refused(f"{text.clean(path)}: cannot be written")


# --- the decisions of one policy over one session ---

_STDOUT = "-"
_MESSAGE = 60  # characters of an error


def write_decisions(args: Parsed, _environ: Mapping[str, str]) -> int:
    """Write a line for each request, with what is cleared before it and what enters shorter, and the totals on standard error; Refused
    where it cannot."""
    gc.enable()
    check_policies([args.policy])
    session = session_of(args.argument)
    prices = replay_policies.prices_for(session, TTLS[args.ttl], args.model)
    try:
        _decide(args, session, prices)
    except PolicyFailed as why:
        raise Refused(f"{clean(args.policy)} failed: {clean(str(why))}") from None
    return 0


def _decide(args: Parsed, session: Session, prices: Prices) -> None:
    policy = chosen = replay_policies.policy_of(args.policy, session, prices)
    if args.say_once or args.shape:
        policy = Door(shipped.rules(), chosen, door.Settings(args.say_once or OFF, args.shape or OFF))
    summary = _written(session, policy, prices, args.out)
    if isinstance(chosen, Checked):
        chosen.end()
    print(f"{clean(args.policy)}, {args.ttl} cache, {in_words(prices)}: {summary}", file=sys.stderr)


def in_words(prices: Prices) -> str:
    """Return the prices of a calculation in words."""
    whose = clean(prices.model) or "an unknown model"
    unknown = "" if replay_policies.has_price(prices.model) else ", whose price is not known: decided as with the most cautious ones"
    bound = ", thinking bound" if prices.bound else ""
    return f"{whose}{unknown} (read {prices.read:g}, write {prices.write:g}, output {prices.output:g}{bound})"


def replay(session: Session, policy: measure.Policy, prices: Prices, file: TextIO) -> str:
    """Write the decisions of a policy as JSON lines, one by one; return the totals in words. OSError where it cannot write."""

    def write(request: Request, decisions: list, entered: list) -> None:
        clear, inputs, whole = [], [], []
        for block, put, reasons in decisions:
            if not block.id:
                inputs.append({"id": block.asks, "input": put, "reasons": list(reasons)})
            elif put == block.text:
                whole.append({"id": block.id, "reasons": list(reasons)})
            else:
                clear.append({"id": block.id, "placeholder": put, "reasons": list(reasons)})
        line: dict[str, object] = {"before_message_id": request.message_id, "request": request.number, "clear": clear}
        line.update({name: some for name, some in (("inputs", inputs), ("whole", whole)) if some})
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


def check_policies(names: Iterable[str]) -> None:
    """Refuse names of policies that do not exist, before the long run."""
    try:
        for name in names:
            replay_policies.described(name)
    except own_policies.PolicyUnusable as error:
        raise Refused(clean(str(error))) from None


def session_of(path: str) -> Session:
    """Return a session, with the handles that a live clear would give. Refused where it cannot be read."""
    try:
        session_lookup.check(path)
        session = sent_requests.read(path)
        sent_requests.name_handles(session)
        return session
    except session_lookup.NoSession as error:
        raise Refused(str(error)) from None
    except OSError as error:
        raise Refused(f"{clean(path)}: cannot be read: {clean(error.strerror or str(error))}") from None
    except Exception as error:  # noqa: BLE001  a file may hold anything; the lab leaves it out
        raise Refused(f"{clean(path)}: could not be read: {type(error).__name__} {clean(str(error))[:_MESSAGE]}".rstrip()) from None


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
