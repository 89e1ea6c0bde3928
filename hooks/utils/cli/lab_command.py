"""`popkit lab`: what past sessions would have saved, cost and missed under each policy; `popkit lab learn`: the model of need, from them.

Reads transcripts only; writes the page that --html names, and the model that `learn` makes. Exit 0, or 1 when there is nothing to show.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shlex
import subprocess
import sys

from ..answers import text
from ..edges import files, home
from ..lab import sessions as transcripts
from ..lab import survey
from . import screen, sessions

TTLS = {"5m": 300, "1h": 3_600}
_SAID = {"300": "5 minutes", "3600": "1 hour"}
MODEL_NAME = "need-model.json"
_BAR = 30
_NAME = 22


class Refused(Exception):
    """What the user asked for cannot be done; the message says what to do, and `command` is what to type for it."""

    def __init__(self, message: str, command: str = ""):
        super().__init__(message)
        self.command = command


def run_words(words: list, environ=os.environ) -> int:
    """Runs `popkit lab`."""
    gc.enable()  # a long run, unlike other commands
    learns = words[:1] == ["learn"]
    args = _learn_parser().parse_args(words[1:]) if learns else _parser().parse_args(words)
    try:
        return _learn(args, environ) if learns else _survey(args, environ)
    except Refused as error:
        typed = ["", "  " + error.command] if error.command else []  # on one line, so that it can be copied
        screen.show([*text.wrap(f"popkit lab: {error}", indent="  "), *typed], sys.stderr, environ)
        return 1


def _parser():
    parser = argparse.ArgumentParser(
        prog="popkit lab",
        description="What past sessions would have saved, cost and missed under each policy.",
        epilog="`popkit lab learn [PATH …]` learns from them what is needed again; `popkit lab learn --help` says more.",
    )
    _add_paths(parser)
    parser.add_argument("--policy", metavar="NAME", nargs="+", action="extend", help="only these (default: all)")
    parser.add_argument("--ttl", choices=[*TTLS, "both"], default="5m", help="lifetime of the prompt cache (default: 5m)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--html", metavar="FILE", help="also write a page with plots")
    parser.add_argument("--jobs", metavar="N", type=int, help="processes (default: one for each processor)")
    return parser


def _learn_parser():
    parser = argparse.ArgumentParser(prog="popkit lab learn", description="Learns from past sessions which results are needed again.")
    _add_paths(parser)
    parser.add_argument("--out", metavar="FILE", help=f"where the model goes (default: {MODEL_NAME} in PopKit's folder)")
    return parser


def _add_paths(parser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", help="transcripts, or folders of them (default: all of this client)")


# --- the survey --------------------------------------------------------------------------------------------------------------------


def _survey(args, environ) -> int:
    known = survey.known_policies()
    unknown = [name for name in args.policy or () if name not in known]
    if unknown:
        raise Refused(f"unknown policy {text.cut(text.clean(unknown[0]), 40)}. Known: {', '.join(known)}")
    if args.jobs is not None and args.jobs < 1:
        raise Refused("--jobs takes a number from 1")
    if args.html:
        _check_html(args.html)
    ttls = list(TTLS.values()) if args.ttl == "both" else [TTLS[args.ttl]]
    bar = _Bar(environ)
    found = survey.survey(_paths(args, environ), args.policy, ttls, args.jobs, bar.show)
    bar.end()
    if args.json:
        print(json.dumps(found))
    else:
        screen.show(lines_of(found), sys.stdout, environ)
    if not found["sessions"]:
        return 1
    if args.html:
        _write_html(found, args.html)
        print(f"popkit lab: the page is {text.clean(os.path.abspath(args.html))}", file=sys.stderr)
    return 0


def _paths(args, environ) -> list:
    """What the user named, else the client's own folder of sessions."""
    folder = sessions.projects_folder(environ)
    if not args.paths and not os.path.isdir(folder):
        raise Refused(f"there are no sessions of Claude Code here: {text.clean(folder)} does not exist. Name a folder or a file")
    return args.paths or [folder]


def lines_of(found: dict) -> list:
    """The survey as a table for each lifetime of the cache, cheapest policy first."""
    counts = [text.counted(found["sessions"], "session"), _plural(found["repositories"], "repository", "repositories")]
    lines = text.title("Past sessions under each policy")
    lines.append(f"{', '.join(counts)}, {text.counted(found['requests'], 'request')}; {_megabytes(found)}")
    for ttl_s, policies in found["ttls"].items():
        lines += ["", f"Prompt cache of {_SAID[ttl_s]}; cost and carried tokens against clearing nothing"]
        lines.append(f"  {'policy':<{_NAME}}{'cost':>7}{'carried':>9}{'misses/100':>12}{'dearer':>8}{'cleared':>9}")
        for name, one in sorted(policies.items(), key=lambda pair: (pair[1]["cost"], pair[0])):
            mark = "►" if name == "auto" else " "
            lines.append(
                f"{mark} {text.pad(name, _NAME)}{one['cost']:>7.3f}{one['carried']:>9.3f}{one['misses_per_100']:>12.2f}"
                f"{one['dearer']:>8.1%}{one['cleared_share']:>9.1%}"
            )
    if found["ttls"]:
        lines += ["", *text.wrap("misses/100: results needed again after they were cleared, for 100 requests.", indent="  ")]
        lines += text.wrap(
            "dearer: sessions that cost more than without clearing. cleared: results that left. oracle…: bounds.", indent="  "
        )
    if found["skipped"]:
        lines += ["", "Left out:"]
        for reason, count in sorted(found["skipped"].items(), key=lambda pair: (-pair[1], pair[0])):
            lines += text.wrap(f"  {count:>6,}  {reason}", indent=" " * 10)
    elif not found["sessions"]:
        lines += ["", "No transcripts there: name files or folders of *.jsonl."]
    return lines


def _megabytes(found: dict) -> str:
    return f"{found['bytes'] / 1e6:,.1f} MB in {text.span(found['seconds'])}"


def _plural(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


class _Bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self, environ):
        self.on = sys.stderr.isatty() and environ.get("TERM") != "dumb"
        self.shown = -1

    def show(self, done: int, whole: int) -> None:
        """So many bytes of all are done."""
        percent = 100 * done // whole if whole else 100
        if self.on and percent != self.shown:
            self.shown = percent
            full = _BAR * percent // 100
            sys.stderr.write(f"\r[{'#' * full}{'.' * (_BAR - full)}] {percent:>3} % of {whole / 1e6:,.1f} MB")
            sys.stderr.flush()

    def end(self) -> None:
        if self.shown >= 0:
            sys.stderr.write("\r\x1b[K")


# --- the page ----------------------------------------------------------------------------------------------------------------------


def _page_maker() -> list:
    """The command that makes the page, in a process of its own: it needs a library, which this one cannot see (-S)."""
    root = home.plugin_root()
    places = [os.path.join(root, *folders, "popkit_retention", "lab_report.py") for folders in (("power-mode",), ())]
    return [sys.executable, next(filter(os.path.exists, places), places[0])]


def _check_html(path: str) -> None:
    """Refuses before the long run what would fail after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise Refused(f"{text.clean(path)}: cannot be written")
    checked = subprocess.run([*_page_maker(), "--check"], capture_output=True, check=False)  # noqa: S603  our own script
    if checked.returncode:
        extra = shlex.quote(home.plugin_root() + "[lab]")
        raise Refused("--html needs a plotting library. Install it with", f"{shlex.quote(sys.executable)} -m pip install {extra}")


def _write_html(found: dict, path: str) -> None:
    made = subprocess.run(_page_maker(), input=json.dumps(found).encode(), capture_output=True, check=False)  # noqa: S603  our own script
    if made.returncode:
        raise Refused(f"the page could not be made: {text.clean(made.stderr.decode('utf-8', 'replace')[-300:])}")
    try:
        files.replace_text(path, made.stdout.decode("utf-8"))
    except OSError as error:
        raise Refused(f"{text.clean(path)}: {error.strerror or error}") from None


# --- learning ----------------------------------------------------------------------------------------------------------------------


def _learn(args, environ) -> int:
    from ..lab import fitting

    skipped: dict = {}

    def skip(path: str, reason: str) -> None:
        skipped[reason] = skipped.get(reason, 0) + 1

    found = survey.find(_paths(args, environ), skip)
    bar = _Bar(environ)
    try:
        model = fitting.learn(_readable(found, skip, bar))
    except ValueError as error:
        raise Refused(f"nothing to learn from: {error}") from None
    finally:
        bar.end()
    path = os.path.abspath(args.out) if args.out else os.path.join(home.popkit_home(environ), MODEL_NAME)
    try:
        if not args.out:
            files.make_private_folder(os.path.dirname(path))
        files.replace_text(path, json.dumps(model) + "\n")
    except OSError as error:
        raise Refused(f"{text.clean(path)}: {error.strerror or error}") from None
    screen.show(_learnt_lines(model, path, skipped), sys.stdout, environ)
    return 0


def _readable(found: list, skip, bar):
    """The sessions that can be read, one after the other."""
    whole, done = sum(size for size, _ in found), 0
    for size, path in found:
        try:
            session = transcripts.read(path)
        except OSError as error:
            skip(path, "cannot be read: " + (error.strerror or str(error)))
        except Exception as error:  # noqa: BLE001  one file that nobody foresaw must not end the run over all the others
            skip(path, "could not be read: " + type(error).__name__)
        else:
            if session.requests:
                yield session
            else:
                skip(path, "no conversation")
        done += size
        bar.show(done, whole)


def _learnt_lines(model: dict, path: str, skipped: dict) -> list:
    learnt = model["learnt"]
    lines = text.title("What is needed again, learnt from past sessions")
    lines.append(f"Sessions  {learnt['sessions']:,}, {learnt['rows']:,} looks at a result")
    lines += text.wrap(
        f"AUC       {learnt['auc']:.2f}: how often a result that was needed is rated above one that was not", indent=" " * 10
    )
    lines += text.wrap(f"Model     {path}", indent=" " * 10)
    lines += [f"Left out  {count:,}: {reason}" for reason, count in sorted(skipped.items())]
    return lines
