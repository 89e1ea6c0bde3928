"""`popkit lab`: what past sessions would have saved, cost and missed under each policy.

Reads transcripts only; writes what --html or --decisions names. Exit 0, or 1 when there is nothing to show.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from contextlib import nullcontext

from hooks.utils import text
from hooks.utils.io import files

from .. import extras
from ..lab import loading, outcomes, survey
from ..operations import sessions
from ..parallel.sources import Unavailable
from . import lab_decisions, many_sessions, screen
from .answering import Refused
from .lab_decisions import TTLS
from .main import version
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from hooks.utils.flag_parser import Parsed

    from ..lab.parquet import Parquet
    from ..parallel.results import Where

_TTL_IN_WORDS = {"300": "5 minutes", "3600": "1 hour"}
_NAME = 22
_REASONS = 5  # at most, of each policy that failed
MISTAKES = (Unavailable, sessions.NoSession)


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Run `popkit lab`, and `popkit lab --decisions`; Refused."""
    gc.enable()  # a long run, unlike other commands
    if args.word == "--decisions":
        return lab_decisions.run(args)
    return _keep_warm(args, environ) if args.word == "--keep-warm" else _survey(args, environ)


# --- the survey --------------------------------------------------------------------------------------------------------------------


def _survey(args: Parsed, environ: Mapping[str, str]) -> int:
    lab_decisions.check(args.policy or ())
    for path in (args.html, args.parquet):
        if path:
            check_writable(path)
    if args.html:
        maker = _page_maker(environ)
    paths, where = _asked(args, environ)
    with Bar(environ) as bar, _parquet(args.parquet) as table:
        result = survey.survey(paths, args.policy, _ttls(args), where.jobs, bar.show, args.model, where.scheduler, table)
    result["card"] = survey.card_of(result, version())
    if args.json:
        print(json.dumps(result))
    else:
        screen.show(lines_of(result), sys.stdout, environ)
    if not result["sessions"]:
        return 1
    if args.html:
        _write_html(result, args.html, maker)
        print(f"popkit lab: the page is {text.clean(os.path.abspath(args.html))}", file=sys.stderr)
    if args.parquet:
        print(f"popkit lab: the table is {text.clean(os.path.abspath(args.parquet))}", file=sys.stderr)
    return 0


def _ttls(args: Parsed) -> list[int]:
    return list(TTLS.values()) if args.ttl == "both" else [TTLS[args.ttl]]


def _asked(args: Parsed, environ: Mapping[str, str]) -> tuple[list[str], Where]:
    """Return which sessions the user means, and where they are to be worked on. NoSession where the host has none."""
    paths, where = many_sessions.paths_of(args.arguments, args.flags), many_sessions.where_of(args.flags)
    many_sessions.equip(paths, args.flags, environ)
    return paths or sessions.places_of_host(environ, args.host), where


def _parquet(path: str | None) -> AbstractContextManager[Parquet | None]:
    if not path:
        return nullcontext()
    from ..lab.parquet import Parquet

    return Parquet(path)


def lines_of(result: dict) -> list[text.Line]:
    """Return the survey as a table for each lifetime of the cache, cheapest policy first."""
    repositories = "1 repository" if result["repositories"] == 1 else f"{result['repositories']:,} repositories"
    counts = [text.counted(result["sessions"], "session"), repositories]
    lines = text.title("Past sessions under each policy")
    lines.append(f"{', '.join(counts)}, {text.counted(result['requests'], 'request')}; {_megabytes(result)}")
    if result["sessions"]:
        lines += text.wrap(_priced(result))
    for ttl_s, policies in result["ttls"].items():
        lines += ["", f"Prompt cache of {_TTL_IN_WORDS[ttl_s]}; cost and carried tokens against clearing nothing"]
        lines.append(f"  {'policy':<{_NAME}}{'cost':>7}{'carried':>9}{'misses/100':>12}{'dearer':>8}{'cleared':>9}")
        for name, one in sorted(policies.items(), key=lambda pair: (pair[1]["cost"], pair[0])):
            mark = "►" if name == "auto" else " "
            shown = text.pad(text.clean(loading.shown(name)), _NAME)
            lines.append(
                f"{mark} {shown}{one['cost']:>7.3f}{one['carried']:>9.3f}{one['misses_per_100']:>12.2f}"
                f"{one['dearer']:>8.1%}{one['cleared_share']:>9.1%}"
            )
    if result["ttls"]:
        lines += ["", *text.wrap("misses/100: results needed again after they were cleared, for 100 requests.", indent="  ")]
        lines += text.wrap(
            "dearer: sessions that cost more than without clearing. cleared: results that left. oracle…: bounds.", indent="  "
        )
    lines += _failed(result)
    lines += many_sessions.lines_of(result["skipped"], result["skipped_files"])
    if not result["skipped"] and not result["sessions"]:
        lines += ["", "No transcripts there: name files or folders of *.jsonl."]
    return lines + (_card(result["card"]) if result["sessions"] else [])


def _failed(result: dict) -> list[text.Line]:
    """Return in how many sessions the user's own policies failed, and why."""
    lines: list[text.Line] = []
    for name, reasons in result["failed"].items():
        sessions = text.counted(sum(reasons.values()), "session")
        message = f"{text.clean(loading.shown(name))} failed in {sessions}. There it counts as if it had cleared nothing:"
        lines += ["", *text.wrap(message)]
        for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_REASONS]:
            lines += text.wrap(f"  {count:>6,}  {text.clean(reason)}", indent=" " * 10)
        if len(reasons) > _REASONS:
            lines.append(f"          and {text.counted(len(reasons) - _REASONS, 'other reason')}; --json has all")
    return lines


def _card(card_: dict) -> list[text.Line]:
    """Return what another run has to have in common with this one to give the same figures."""
    parts = [f"popkit {card_['popkit']}"]
    parts += [f"{name} {card_[name][: survey.SHOWN]}" for name in ("engine", "corpus", "results")]
    parts += [f"{text.clean(name)} {digest[: survey.SHOWN]}" for name, digest in card_["policies"].items()]
    note = "With the same engine, prices and corpus, the results are the same; --json has this in full."
    return ["", *text.wrap(f"Card: {' · '.join(parts)}", indent="  "), *text.wrap(note, indent="  ")]


def _priced(result: dict) -> str:
    """Return the prices of the calculation, in words."""
    of = f", as of {result['dated']}" if result["dated"] else ""
    if result["model"]:
        unknown = "" if result["known"] else ", which the table of models does not name: the most cautious ones"
        return f"At the prices of {text.clean(result['model'])}{of}{unknown}."
    models = [text.clean(model) or "unknown" for model in sorted(result["models"], key=lambda model: -result["models"][model])]
    return f"At the prices of the models that answered them{of}: {text.listed(models, 3)}."


def _megabytes(result: dict) -> str:
    return f"{result['bytes'] / 1e6:,.1f} MB in {text.span(result['seconds'])}"


# --- keeping warm ------------------------------------------------------------------------------------------------------------------


def _keep_warm(args: Parsed, environ: Mapping[str, str]) -> int:
    paths, where = _asked(args, environ)
    known = many_sessions.sources_of(paths, many_sessions.LeftOut())
    mains = [source for source in known if os.path.basename(os.path.dirname(source.address)) != "subagents"]
    result = {}
    for ttl_s in _ttls(args):
        with Bar(environ, "sessions") as bar:
            result[str(ttl_s)] = outcomes.keeping_warm(mains, ttl_s, args.model, bar.show, where)
    if args.json:
        print(json.dumps(result))
    else:
        screen.show(kept_lines(result), sys.stdout, environ)
    return 0 if any(one["sessions"] for one in result.values()) else 1


def kept_lines(result: dict) -> list[text.Line]:
    """Return what keeping the cache warm would have been worth, for each lifetime of the cache."""
    lines = text.title("Keeping the prompt cache warm")
    for ttl_s, one in result.items():
        counts = f"{text.counted(one['sessions'], 'session')}, {text.counted(one['requests'], 'request')}"
        lines += ["", f"Prompt cache of {_TTL_IN_WORDS[ttl_s]}: {counts}"]
        if not one["sessions"]:
            lines += text.wrap("No session has enough requests to judge.", indent="  ")
            continue
        if ttl_s == str(TTLS["1h"]):
            lines.append("  Nothing is sent, because that costs more than it saves.")
            continue
        cost, saved = one["cost"] / one["without"], one["without"] - one["cost"]
        lines.append(f"  cost against letting it go cold: {cost:.3f}")
        lines.append(f"  requests that only keep it: {one['sent']:,}")
        line = f"  {'saved' if saved >= 0 else 'lost'}: as much as ~{abs(saved):,.0f} input tokens"
        lines.append(line)
        lines.append(f"  sessions that became dearer: {one['dearer']:,} of {one['sessions']:,}")
    explained = "Sent while the user is to speak, as `warm on` does. What is sent after a session's last request is counted."
    return [*lines, "", *text.wrap(explained)]


# --- the page ----------------------------------------------------------------------------------------------------------------------


def _page_maker(environ: Mapping[str, str]) -> list:
    """Return the command that makes the page, in a process of its own: it needs a library, which this one cannot see (-S)."""
    python = extras.place_of("lab", environ)
    if not python:
        raise Refused("--html needs a plotting library. Install it with", "popkit setup lab")
    return [python, os.path.join(os.path.dirname(survey.__file__), "report.py")]


def _write_html(result: dict, path: str, maker: list) -> None:
    made = subprocess.run(maker, input=json.dumps(result).encode(), capture_output=True, check=False)  # noqa: S603  our own script
    if made.returncode:
        raise Refused(f"the page could not be made: {text.clean(made.stderr.decode('utf-8', 'replace')[-300:])}")
    try:
        files.replace_text(path, made.stdout.decode("utf-8"))
    except OSError as error:
        raise Refused(f"{text.clean(path)}: {error.strerror or error}") from None


def check_writable(path: str) -> None:
    """Refuse before the long run what would fail after it."""
    if os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        raise Refused(f"{text.clean(path)}: cannot be written")
