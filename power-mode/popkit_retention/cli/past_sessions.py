"""What the commands over past sessions share: which files they read, how far they are, what they refuse."""

from __future__ import annotations

import os
import sys

from hooks.utils import text
from hooks.utils.hosts.claude_code import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.policy.economics import Prices

TTLS = {"5m": 300, "1h": 3_600}
_BAR = 30


class Refused(Exception):
    """What the user asked for cannot be done; the message says what to do, and `command` is what to type for it."""

    def __init__(self, message: str, command: str = ""):
        super().__init__(message)
        self.command = command


def told(prices: Prices) -> str:
    """The prices that something was reckoned with, in words."""
    whose = text.clean(prices.model) or "a model that is not told"
    unknown = "" if prices.known else ", which the table of models does not name"
    bound = ", thinking bound" if prices.bound else ""
    return f"{whose}{unknown} (read {prices.read:g}, write {prices.write:g}, output {prices.output:g}{bound})"


def paths_of(paths: list[str], environ: Mapping[str, str]) -> list[str]:
    """What the user named, else the client's own folder of sessions."""
    folder = projects.folder_of(environ)
    if not paths and not os.path.isdir(folder):
        raise Refused(f"there are no sessions of Claude Code here: {text.clean(folder)} does not exist. Name a folder or a file")
    return paths or [folder]


def check_writable(path: str) -> None:
    """Refuses before the long run what would fail after it."""
    if os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        raise Refused(f"{text.clean(path)}: cannot be written")


class Bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self, environ: Mapping[str, str], unit: str = ""):
        """Of bytes, shown as MB, or of what the unit names."""
        self.unit = unit
        self.on = sys.stderr.isatty() and environ.get("TERM") != "dumb"
        self.shown = -1

    def show(self, done: int, whole: int) -> None:
        """So many of all are done."""
        percent = 100 * done // whole if whole else 100
        if self.on and percent != self.shown:
            self.shown = percent
            full = _BAR * percent // 100
            amount = f"{whole:,} {self.unit}" if self.unit else f"{whole / 1e6:,.1f} MB"
            sys.stderr.write(f"\r[{'#' * full}{'.' * (_BAR - full)}] {percent:>3} % of {amount}")
            sys.stderr.flush()

    def end(self) -> None:
        if self.shown >= 0:
            sys.stderr.write("\r\x1b[K")
