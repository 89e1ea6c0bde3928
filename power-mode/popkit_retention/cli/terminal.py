"""Write to the terminal: plain ASCII where its encoding has no blocks, some colour where it is a terminal."""

from __future__ import annotations

import os
import sys
import time

from popkit_retention.core import text
from popkit_retention.core.text import WIDTH, laid_out, visible, width_of, without_controls
from popkit_retention.core.units import countdown

from . import commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from popkit_retention.core.text import Line

_ASCII = str.maketrans({"█": "#", "░": ".", "·": ":", "─": "-", "►": ">", "←": "<", "…": ">"})
_DRAWN = "█░·─►←…"
_BAR = 30
_TIME_LEFT_AFTER_S, _REFRESHED_S = 5.0, 1.0
# In the environment: how bin/popkit was called.
CALLED = "POPKIT_CALLED"
_BOLD, _DIM, _GREEN, _END = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"


def width(stream: TextIO) -> int:
    """Return the width of lines in columns: the terminal's, or for a file or a pipe Claude Code's."""
    try:
        return width_of(os.get_terminal_size(stream.fileno()).columns - 1) if stream.isatty() else WIDTH
    except (OSError, ValueError, AttributeError):
        return WIDTH


class Bar:
    """A progress bar on stderr, where that is a terminal: of bytes, shown as MB, or of the `unit`. A context manager, which removes it."""

    def __init__(self, environ: Mapping[str, str], unit: str = ""):
        self.unit = unit
        self.on = sys.stderr.isatty() and environ.get("TERM") != "dumb"
        self.shown = -1
        self.shown_at = self.began = time.monotonic()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.shown >= 0:
            sys.stderr.write("\r\x1b[K")

    def show(self, done: int, whole: int) -> None:
        """Show the progress, `done` of `whole`."""
        percent = 100 * done // whole if whole else 100
        now = time.monotonic()
        if self.on and (percent != self.shown or now - self.shown_at > _REFRESHED_S):
            self.shown, self.shown_at = percent, now
            full = _BAR * percent // 100
            amount = f"{whole:,} {self.unit}" if self.unit else f"{whole / 1e6:,.1f} MB"
            sys.stderr.write(f"\r[{'#' * full}{'.' * (_BAR - full)}] {percent:>3} % of {amount}{self._time_left(done, whole, now)}\x1b[K")
            sys.stderr.flush()

    def _time_left(self, done: int, whole: int, now: float) -> str:
        """Return how long the rest will take at the speed so far; "" in the first seconds and near the end."""
        passed = now - self.began
        left = passed * (whole - done) / done if done else 0.0
        return f", about {countdown(left)} left" if passed > _TIME_LEFT_AFTER_S and left >= 1 else ""


def write_view(view: Iterable[Line], stream: TextIO, environ: Mapping[str, str]) -> None:
    """Write the lines of a view, without the empty ones at their head (Claude Code writes a text of its own above those)."""
    lines = _with_called_name(laid_out(view, width(stream)), environ)
    while lines and not lines[0]:
        lines = lines[1:]
    encoding = getattr(stream, "encoding", None) or "ascii"
    if not _draws(encoding):
        lines = [line.translate(_ASCII) for line in lines]
    lines = list(map(visible if stream.isatty() else without_controls, lines))  # restored content may be among them
    if _is_coloured(stream, environ):
        lines = _coloured(lines)
    stream.write(("\n".join(lines) + "\n").encode(encoding, "replace").decode(encoding))


def called_name(environ: Mapping[str, str], from_anywhere: bool = False) -> str:
    """Return the name by which a shell finds us: as we were called, unless we are on the PATH. `from_anywhere`: in every folder."""
    called = environ.get(CALLED) or (sys.argv[0] if os.path.basename(sys.argv[0]) == "popkit" else "")
    if not called or any(os.access(os.path.join(folder, "popkit"), os.X_OK) for folder in (environ.get("PATH") or "").split(os.pathsep)):
        return "popkit"
    import shlex

    return shlex.quote(os.path.abspath(called) if from_anywhere else called)


def _with_called_name(lines: list[str], environ: Mapping[str, str]) -> list[str]:
    """Name the command so that lines to type work where they are read, and what other programs run (`-- popkit`, `$(popkit`) anywhere."""
    if not any("popkit" in line for line in lines) or called_name(environ) == "popkit":
        return lines
    import re

    words = "|".join({**commands.every(), **commands.words_of_context()})
    command = re.compile(rf"(?<![\w./:@-])(-- |\$\()?popkit(?=(?: |\n *)(?:{words}|COMMAND|help|--\w+)(?![\w:]))")
    named = command.sub(lambda found: (found[1] or "") + called_name(environ, bool(found[1])), "\n".join(lines)).split("\n")
    for at in range(1, len(lines)):
        if lines[at] and not lines[at].strip("─") and len(lines[at]) == len(lines[at - 1]):  # the rule below a heading
            named[at] = "─" * len(named[at - 1])
    return named


def say_renamed(former: str, current: str, environ: Mapping[str, str]) -> None:
    """Say on standard error what a command is called that was called by its previous name."""
    from popkit_retention.core import flag_parser

    write_view(text.wrap("popkit: " + flag_parser.renaming(former, current), indent="  "), sys.stderr, environ)


def say(words: str, environ: Mapping[str, str]) -> None:
    """Write a sentence to standard output, as wide as that is."""
    write_view(text.wrap(words), sys.stdout, environ)


def is_confirmed(question: str) -> bool:
    """Ask on the terminal; return whether the answer is yes. No answer counts as no."""
    print(f"{question} [y/N] ", end="", flush=True)
    answer = sys.stdin.readline() if sys.stdin else ""
    print("" if answer.endswith("\n") and sys.stdin.isatty() else "\n", end="", flush=True)
    return answer.strip().lower() in ("y", "yes")


def write_content(content: str, stream: TextIO, raw: bool = False) -> None:
    """Write restored contents, with a line end: on a terminal with escapes for what would move its cursor, hide or reorder letters; else
    for control characters alone, since piped text may be shown later. `raw`: unchanged, byte for byte."""
    written = content.removesuffix("\n") + "\n"
    if stream.isatty() and not raw:
        encoding = getattr(stream, "encoding", None) or "ascii"
        written = "\n".join(map(visible, written.split("\n")))
        stream.write(written.encode(encoding, "backslashreplace").decode(encoding))
    else:
        stream.flush()
        stream.buffer.write((written if raw else without_controls(written)).encode("utf-8", "surrogatepass"))
        stream.buffer.flush()


def follow_locale(*streams: TextIO) -> None:
    """Write in the locale's encoding, as the terminal reads it; the interpreter runs with UTF-8 for the names of files. Plain ASCII is what
    a machine without a locale reports: there UTF-8 is the better guess."""
    try:
        from _locale import CODESET, nl_langinfo

        encoding = nl_langinfo(CODESET)
        if encoding.upper() not in ("", "UTF-8", "UTF8", "ASCII", "US-ASCII", "ANSI_X3.4-1968", "646"):
            for stream in streams:
                if hasattr(stream, "reconfigure"):  # a stream that replaces it may lack this method
                    stream.reconfigure(encoding=encoding, errors="replace")
    except (ImportError, LookupError):
        return


def _draws(encoding: str) -> bool:
    try:
        _DRAWN.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _is_coloured(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def _coloured(lines: list[str]) -> list[str]:
    """Return the lines with titles bold, their rules dim, and what could be reclaimed green."""
    painted = []
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if _is_rule(below) and line:
            line = _BOLD + line + _END
        elif _is_rule(line):
            line = _DIM + line + _END
        elif line.startswith(("Reclaimable: ~", "Clear now: ")):
            line = _GREEN + line + _END
        painted.append(line)
    return painted


def _is_rule(line: str) -> bool:
    return bool(line) and not line.strip("─-")
