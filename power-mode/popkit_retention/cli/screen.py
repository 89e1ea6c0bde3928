"""Write lines and progress on a terminal: plain ASCII where its encoding has no blocks and rules, some colour where it is a terminal."""

from __future__ import annotations

import os
import sys
import time

from hooks.utils.text import WIDTH, countdown, laid_out, visible, width_of, without_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from hooks.utils.text import Line

_ASCII = str.maketrans({"█": "#", "░": ".", "·": ":", "─": "-", "►": ">", "←": "<", "…": ">"})
_DRAWN = "█░·─►←…"
_BAR = 30
_TOLD_AFTER_S, _REFRESHED_S = 5.0, 1.0
_BOLD, _DIM, _GREEN, _END = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"


def width(stream: TextIO) -> int:
    """Return how wide lines may be: as the terminal allows that they go to; for a file or a pipe as in Claude Code."""
    try:
        return width_of(os.get_terminal_size(stream.fileno()).columns - 1) if stream.isatty() else WIDTH
    except (OSError, ValueError, AttributeError):
        return WIDTH


class Bar:
    """Progress on stderr, where that is a terminal: of bytes, shown as MB, or of what `unit` names."""

    def __init__(self, environ: Mapping[str, str], unit: str = ""):
        self.unit = unit
        self.on = sys.stderr.isatty() and environ.get("TERM") != "dumb"
        self.shown = -1
        self.shown_at = self.began = time.monotonic()

    def show(self, done: int, whole: int) -> None:
        """Show that `done` of `whole` are done."""
        percent = 100 * done // whole if whole else 100
        now = time.monotonic()
        if self.on and (percent != self.shown or now - self.shown_at > _REFRESHED_S):
            self.shown, self.shown_at = percent, now
            full = _BAR * percent // 100
            amount = f"{whole:,} {self.unit}" if self.unit else f"{whole / 1e6:,.1f} MB"
            sys.stderr.write(f"\r[{'#' * full}{'.' * (_BAR - full)}] {percent:>3} % of {amount}{self._left(done, whole, now)}\x1b[K")
            sys.stderr.flush()

    def _left(self, done: int, whole: int, now: float) -> str:
        """Return how long the rest will take if it goes on as it did so far; nothing until that can be told, and near the end."""
        gone = now - self.began
        left = gone * (whole - done) / done if done else 0.0
        return f", about {countdown(left)} left" if gone > _TOLD_AFTER_S and left >= 1 else ""

    def end(self) -> None:
        if self.shown >= 0:
            sys.stderr.write("\r\x1b[K")


def show(view: Iterable[Line], stream: TextIO, environ: Mapping[str, str]) -> None:
    """Write the lines of a view, without the empty ones at their head (Claude Code writes a text of its own above those)."""
    lines = laid_out(view, width(stream))
    while lines and not lines[0]:
        lines = lines[1:]
    encoding = getattr(stream, "encoding", None) or "ascii"
    if not _draws(encoding):
        lines = [line.translate(_ASCII) for line in lines]
    lines = list(map(visible if stream.isatty() else without_controls, lines))  # a restored content may stand among them
    if _is_coloured(stream, environ):
        lines = _coloured(lines)
    text = "\n".join(lines) + "\n"
    stream.write(text.encode(encoding, "replace").decode(encoding))


def is_confirmed(question: str) -> bool:
    """Ask on the terminal; return whether the answer is yes. No answer is a no."""
    print(f"{question} [y/N] ", end="", flush=True)
    answer = sys.stdin.readline() if sys.stdin else ""
    print("" if answer.endswith("\n") and sys.stdin.isatty() else "\n", end="")
    return answer.strip().lower() in ("y", "yes")


def write_content(lines: list[str], stream: TextIO, raw: bool = False) -> None:
    """Write restored contents: on a terminal with escapes for what would move its cursor, hide or reorder letters; else for control
    characters alone, since what is piped may be shown later. `raw`: as they are, byte for byte."""
    text = "\n".join(lines) + "\n"
    if stream.isatty() and not raw:
        encoding = getattr(stream, "encoding", None) or "ascii"
        text = "\n".join(map(visible, text.split("\n")))
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    else:
        stream.flush()
        stream.buffer.write((text if raw else without_controls(text)).encode("utf-8", "surrogatepass"))
        stream.buffer.flush()


def follow_locale(*streams: TextIO) -> None:
    """Write in the locale's encoding, as the terminal reads it; the interpreter runs with UTF-8 for the names of files. Plain ASCII is what
    a machine without a locale reports: there UTF-8 is the better guess."""
    try:
        from _locale import CODESET, nl_langinfo

        encoding = nl_langinfo(CODESET)
        if encoding.upper() not in ("", "UTF-8", "UTF8", "ASCII", "US-ASCII", "ANSI_X3.4-1968", "646"):
            for stream in streams:
                if hasattr(stream, "reconfigure"):  # one that somebody has put in its place has none
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
