"""`popkit lab learn`: the model of need, learnt from all of a user's sessions or from a project's, and kept if it tells more than the one
that holds without it.

Reads transcripts; writes or removes a learnt model, nothing else. Exit 0, also when the model is not kept; 1 when nothing can be learnt.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys

from hooks.utils.answers import text
from hooks.utils.edges import files, home
from hooks.utils.host import projects
from hooks.utils.state import learnt

from ..lab import fitting, survey
from ..lab import sessions as transcripts
from . import screen, sessions
from .past_sessions import Bar, Refused, add_paths, check_writable, paths_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HERE = "."
# With fewer, whether a model is better held out was seen to be a matter of chance.
_FEWEST = 4
_INDENT = " " * 10
_SAID = {learnt.SHIPPED: "the shipped model", learnt.USER: "the model learnt from all sessions", learnt.PROJECT: "the project's model"}


def run_words(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Runs `popkit lab learn`; Refused when it cannot."""
    parser = _parser()
    args = parser.parse_args(words)
    project, folder = ("", "") if args.project is None else _project(args.project, environ)
    if not args.undo:
        return _learn(args, project, folder, environ)
    if args.paths or args.out or args.force or args.from_nothing:
        parser.error("--undo removes what was learnt, and can only be combined with --project and --json")
    return _undo(args, project, environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="popkit lab learn",
        description="Learns from past sessions which results are needed again, starting from the shipped model. PopKit keeps what it"
        " learnt if that predicts sessions better that it has not seen.",
    )
    add_paths(parser)
    about = "learn from the sessions of one project, for that project only (default: this folder's); give PATHs before it"
    parser.add_argument("--project", metavar="FOLDER", nargs="?", const=_HERE, help=about)
    parser.add_argument("--undo", action="store_true", help="remove the learnt model (with --project, the project's)")
    parser.add_argument("--force", action="store_true", help="keep it even if it is no better")
    parser.add_argument("--from-nothing", action="store_true", help="start from nothing instead of the shipped model")
    parser.add_argument("--out", metavar="FILE", help=f"write it to this file in any case (default: {learnt.NAME} in PopKit's folder)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _project(folder: str, environ: Mapping[str, str]) -> tuple:
    """(the project that a folder belongs to, the client's folder of its sessions); where the client has none, the folder itself and ""."""
    project = os.path.realpath(folder)
    if os.path.isfile(project):  # what is near it would be learnt from instead
        raise Refused(f"{text.clean(folder)}: --project takes a folder. Name transcripts before it")
    found = _client_folder(project, environ)
    above = os.path.dirname(project)
    while found and above != project and _client_folder(above, environ) == found:
        project, above = above, os.path.dirname(above)
    return project, found


def _client_folder(folder: str, environ: Mapping[str, str]) -> str:
    try:
        return os.path.dirname(sessions.newest_of_project(environ, folder))
    except sessions.NoSession:
        return ""


# --- learning ----------------------------------------------------------------------------------------------------------------------


def _learn(args: argparse.Namespace, project: str, folder: str, environ: Mapping[str, str]) -> int:
    popkit_home = home.popkit_home(environ)
    if args.out:
        check_writable(args.out)
    # The model to be replaced has seen these sessions: to begin at it would count them twice, to compare with it would be unfair.
    before = learnt.load(popkit_home) if project else learnt.shipped()
    model, skipped = _model(_paths(args, project, folder, environ), before.model.weights, args.from_nothing, environ)
    path = os.path.abspath(args.out) if args.out else learnt.model_path(popkit_home, project)
    judged = model["learnt"]
    better = judged["sessions"] >= _FEWEST and judged["log_loss"] < judged["log_loss_before"]
    written = bool(args.out or args.force or better)
    if written:
        _write(model, path, private=not args.out)
    if args.json:
        about = {"learnt": judged, "before": before.source, "better": better, "written": path if written else None}
        print(json.dumps({"schema": 1, **about, "project": project or None, "skipped": skipped, "trouble": before.trouble}))
        return 0
    lines = text.title("What is needed again, learnt from past sessions")
    if project:
        lines += _line("Project", project)
    lines += [*_judged_lines(judged, before), *_kept_lines(args, path, judged, written, better)]
    for reason, count in sorted(skipped.items()):
        lines += _line("Left out", f"{count:,}: {reason}")
    screen.show(lines, sys.stdout, environ)
    return 0


def _paths(args: argparse.Namespace, project: str, folder: str, environ: Mapping[str, str]) -> list[str]:
    """What the user named, else the sessions of the project, else all."""
    if args.paths or not project:
        return paths_of(args, environ)
    if not folder:
        raise Refused(
            f"no Claude Code session of {text.clean(project)} under {text.clean(projects.folder_of(environ))}. Name transcripts"
            " before --project, or omit it to learn from all sessions"
        )
    return [folder]


def _model(paths: list[str], before: dict, from_nothing: bool, environ: Mapping[str, str]) -> tuple:
    """(the model's plain values, {reason: how many files were left out})."""
    skipped: dict = {}

    def skip(path: str, reason: str) -> None:
        skipped[reason] = skipped.get(reason, 0) + 1

    found = survey.find(paths, skip)
    bar = Bar(environ)
    try:
        model = fitting.learn(_readable(found, skip, bar), prior=None if from_nothing else before, before=before)
    except ValueError as error:
        out = text.listed([f"{count:,} {reason}" for reason, count in sorted(skipped.items())])
        raise Refused(f"too little to learn from: {error}{f' (left out: {out})' if out else ''}. Name more transcripts") from None
    finally:
        bar.end()
    return model, skipped


def _readable(found: list, skip: Callable[[str, str], None], bar: Bar) -> Iterator[transcripts.Session]:
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


def _write(model: dict, path: str, private: bool) -> None:
    try:
        if private:
            files.make_private_folder(os.path.dirname(path))
        files.replace_text(path, json.dumps(model) + "\n")
    except OSError as error:
        raise Refused(f"{text.clean(path)}: {error.strerror or error}") from None


# --- undoing -----------------------------------------------------------------------------------------------------------------------


def _undo(args: argparse.Namespace, project: str, environ: Mapping[str, str]) -> int:
    popkit_home = home.popkit_home(environ)
    path = learnt.model_path(popkit_home, project)
    try:
        removed = learnt.remove(popkit_home, project)
    except OSError as error:
        raise Refused(f"{text.clean(path)}: cannot be removed: {error.strerror or error}") from None
    known = learnt.load(popkit_home, project)
    if args.json:
        told = {"removed": path if removed else None, "holds": known.source, "project": project or None, "trouble": known.trouble}
        print(json.dumps({"schema": 1, **told}))
        return 0
    whose = f"the sessions of {project}" if project else "all sessions"
    lines = _line("Removed", path) if removed else text.wrap(f"No model has been learnt from {whose}: there is no {path}.")
    lines += text.wrap(f"What holds{' now' if removed else ''}: {_SAID[known.source]}.")
    screen.show([*lines, *_trouble_lines(known)], sys.stdout, environ)
    return 0


# --- what is said of it ------------------------------------------------------------------------------------------------------------


def _judged_lines(about: dict, before: learnt.Known) -> list[str]:
    parts = min(fitting.FOLDS, about["sessions"])
    return [
        *_line("Sessions", f"{about['sessions']:,}, {about['rows']:,} looks at a result"),
        *_line("Before", f"AUC {about['auc_before']:.2f}, log loss {about['log_loss_before']:.4f}: {_SAID[before.source]}"),
        *_line("Learnt", f"AUC {about['auc']:.2f}, log loss {about['log_loss']:.4f}: held out, each of {parts} parts told by the others"),
        *text.wrap(_INDENT + "AUC: how often a result that was needed is rated above one that was not.", indent=_INDENT),
        *text.wrap(_INDENT + "Log loss: how wrong the chances were that it gave; less is better.", indent=_INDENT),
        *_trouble_lines(before),
    ]


def _kept_lines(args: argparse.Namespace, path: str, about: dict, written: bool, better: bool) -> list:
    if not written:
        few = about["sessions"] < _FEWEST
        because = f"fewer than {_FEWEST} sessions cannot judge it" if few else "held out, its log loss is not below that of before"
        lines = _line("Model", f"not written: {because}. --force writes it anyway.")
        return lines + (_line("", f"What was learnt earlier stays: {path}") if os.path.exists(path) else [])
    lines = _line("Model", path if better else f"{path}, although it is not better than before")
    if not args.out:
        folder = "" if args.project in (None, _HERE) else " " + shlex.quote(args.project)
        lines += _line("Go back", "popkit lab learn --undo" + ("" if args.project is None else " --project" + folder))
    return lines


def _trouble_lines(known: learnt.Known) -> list[str]:
    return text.wrap(f"Passed over: {known.trouble}", indent="  ") if known.trouble else []


def _line(name: str, said: str) -> list:
    first, *rest = text.wrap(_INDENT + said, indent=_INDENT)
    return [f"{name:<10}{first[len(_INDENT) :]}", *rest]
