"""A program in a pseudo terminal: send it keys, wait for what the screen shows, read the screen.

Must never sleep a fixed time where it can wait for something on the screen.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Union

import pexpect
import pyte

from tests.patience import HANG_S

from .client import ClientTimeoutError

# What the screen is to show: a text, a pattern, or a test of it.
Shown = Union[str, "re.Pattern[str]", Callable[[str], bool]]
# How long is waited for a program that has hung once: each test of a window would wait for it.
HUNG_S = 60.0


class Screen:
    """A program on a screen of its own."""

    # Sequences that pyte would print or misread: private CSI (kitty keys, modifyOtherKeys, XTVERSION), DCS, APC.
    unknown = re.compile(r"\x1b\[[<>=][0-9;]*[ -/]*[@-~]|\x1b[P_^][^\x1b]*\x1b\\")
    unfinished = re.compile(r"\x1b(?:\[[<>=0-9;?]*|[P_^\]][^\x1b\x07]*)?\Z")

    def __init__(self, command: Sequence[str], *, cwd: Path, env: dict[str, str], rows: int, columns: int) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._pending = ""
        self._patience_s = HANG_S
        self._rows = [""] * rows  # of the screen as it was when it was last looked at
        self._child = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env=env,
            dimensions=(rows, columns),
            encoding="utf-8",
            codec_errors="replace",
        )
        self._child.delaybeforesend = None

    def screen(self) -> list[str]:
        """The lines on the screen now, right-stripped, without the empty ones at the end."""
        self._read()
        for row in self._screen.dirty:  # to draw them all is slow
            cells = self._screen.buffer[row]
            self._rows[row] = "".join([cells[column].data for column in range(self._screen.columns)]).rstrip()
        self._screen.dirty.clear()
        end = next((end for end in range(len(self._rows), 0, -1) if self._rows[end - 1]), 0)
        return self._rows[:end]

    def text(self) -> str:
        """The screen as one string."""
        return "\n".join(self.screen())

    def wait(self, what: Shown, timeout: float | None = None) -> list[str]:
        """Wait until the screen shows a text, matches a pattern, or satisfies a test; gives the screen then."""
        patience_s = timeout or self._patience_s
        deadline = time.monotonic() + patience_s
        while True:
            is_alive = self._child.isalive()  # before it is looked at: what it shows as it ends counts
            lines = self.screen()
            shown = "\n".join(lines)
            if isinstance(what, str):
                satisfied = what in shown
            elif isinstance(what, re.Pattern):
                satisfied = bool(what.search(shown))
            else:
                satisfied = what(shown)
            if satisfied:
                return lines
            if time.monotonic() > deadline or not is_alive:
                ended = "" if is_alive else ", and it has ended"
                if timeout is None:
                    self._patience_s = HUNG_S
                message = f"waited up to {patience_s:.0f} s for {what!r}{ended}; the screen shows:\n{shown}"
                raise ClientTimeoutError(message)

    def insist(self, act: Callable[[], object], satisfied: Shown, seconds: float) -> list[str]:
        """Do something, and again after so many seconds, until the screen satisfies a test: for keys that may be dropped."""
        deadline = time.monotonic() + self._patience_s
        while True:
            act()
            try:
                return self.wait(satisfied, seconds)
            except ClientTimeoutError:
                if not self._child.isalive() or time.monotonic() > deadline:
                    self._patience_s = HUNG_S
                    raise

    def press(self, *keys: str) -> None:
        """Send keys as they are."""
        for key in keys:
            self._child.send(key)

    def wait_still(self, seconds: float) -> None:
        """Keep reading for a while: for keys that are taken in by time, such as a double Escape."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read()

    def _read(self, timeout: float = 0.05) -> None:
        try:
            self._pending += self._child.read_nonblocking(65536, timeout)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            time.sleep(timeout)
            return
        unfinished = self.unfinished.search(self._pending)
        cut = unfinished.start() if unfinished else len(self._pending)
        ready, self._pending = self._pending[:cut], self._pending[cut:]
        self._stream.feed(self.unknown.sub("", ready))
