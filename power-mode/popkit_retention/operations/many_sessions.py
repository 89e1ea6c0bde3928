"""Find the sessions that a person names (by paths, addresses, lists), with what was left out of them. Reads only."""

from __future__ import annotations

from popkit_retention.core import text

from ..parallel.results import Workplace
from ..parallel.sources import EMPTY, NO_CONVERSATION, NO_FILE, SourceUnavailable, find, is_remote, read_list
from .session_lookup import NoSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..parallel.sources import Source


EXTRA = "cluster"
_NAMED = 3  # sessions that are listed for one reason
_USUAL = (EMPTY, NO_CONVERSATION, NO_FILE)  # such files are in every folder of sessions


def paths_of(arguments: Sequence[str], flags: Mapping[str, Any]) -> list[str]:
    """Return the paths and addresses that the user named, and those in the list; NoSession where the list cannot be read."""
    if "list" not in flags:
        return list(arguments)
    try:
        more = read_list(flags["list"])
    except OSError as error:
        raise NoSession(f"{text.clean(flags['list'])}: {error.strerror or error}") from None
    if not more and not arguments:
        raise NoSession(f"{text.clean(flags['list'])} names no sessions. It takes one path or address on each line")
    return [*arguments, *more]


def where_of(flags: Mapping[str, Any]) -> Workplace:
    """Return where the user wants the work done."""
    if "jobs" in flags and "scheduler" in flags:
        raise NoSession("--jobs is for this machine, --scheduler for a cluster. Give one of them")
    return Workplace(flags.get("jobs"), flags.get("scheduler", ""))


def need_packages(paths: Sequence[str], flags: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Make packages beyond Python importable where these words need them, if need be by starting this command again in the interpreter that
    has them. SourceUnavailable where no interpreter has."""
    from .. import extras

    needed = [name for name in ("scheduler", "parquet") if name in flags]
    remote = next((path for path in paths if is_remote(path)), "")
    if (needed or remote) and not extras.enter(EXTRA, environ):
        subject = f"--{needed[0]}" if needed else text.cut(text.clean(remote), 60)
        raise SourceUnavailable(f"{subject} needs packages beyond Python. Install them with: popkit setup {EXTRA}")


class Omissions:
    """The sessions that were left out, and why."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str]] = []

    def add(self, path: str, reason: str) -> None:
        """Add a session."""
        self.files.append((path, reason))

    def lines(self) -> list[text.Line]:
        """Return them as part of an answer; [] where nothing was left out."""
        reasons: dict[str, int] = {}
        for _, reason in self.files:
            reasons[reason] = reasons.get(reason, 0) + 1
        return left_out_lines(reasons, self.files)

    def to_json(self) -> list[list[str]]:
        """Return [path, reason] for each session."""
        return [list(entry) for entry in sorted(self.files)]


def left_out_lines(reasons: Mapping[str, int], files: Sequence[Sequence[str]], usual: tuple[str, ...] = ()) -> list[text.Line]:
    """Return how many sessions were left out for each reason, and some of their names. `files`: (path, reason); `usual`: reasons for which
    none is named."""
    lines: list[text.Line] = ["", "Left out:"] if reasons else []
    for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        lines += text.wrap(f"  {count:>6,}  {text.clean(reason)}", indent=" " * 10)
        if reason not in _USUAL + usual:
            names = sorted(path for path, why in files if why == reason)[:_NAMED]
            lines += [line for name in names for line in text.wrap(" " * 10 + text.clean(name), indent=" " * 12)]
            lines += [" " * 10 + "…"] if count > len(names) else []
    return lines


def sources_of(paths: Sequence[str], left_out: Omissions) -> list[Source]:
    """Return the transcripts in these files, folders and at these addresses; NoSession where a path that the user named is not a
    session."""

    def skip(path: str, reason: str) -> None:
        if path in wanted:
            raise NoSession(f"{text.clean(path)}: {reason}")
        left_out.add(path, reason)

    wanted = frozenset(paths)
    return find(paths, skip)
