"""The real OpenCode in a pseudo terminal: type, wait for what the screen shows. Never waits for a time."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pexpect
import pyte

from tests.patience import until

from .client import Project

if TYPE_CHECKING:
    from typing_extensions import Self

ENTER, ESCAPE = "\r", "\x1b"
ROWS, COLUMNS = 50, 170  # wide enough for the sidebar
_POLL_S = 0.05
# Sequences that pyte would print or misread.
_UNKNOWN = re.compile(r"\x1b\[[<>=?][0-9;$]*[ -/]*[a-zA-Z]|\x1b[P_^][^\x1b]*\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CUT_SHORT = re.compile(r"\x1b(?:\[[<>=?0-9;$]*|[P_^\]][^\x1b\x07]*)?\Z")


class Terminal:
    """OpenCode on a screen of its own, in a project; use it as a context manager."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __enter__(self) -> Self:
        server = self.project.server
        still = server.home / ".state" / "opencode" / "kv.json"
        still.parent.mkdir(parents=True, exist_ok=True)
        still.write_text('{"animations_enabled": false}')  # each picture of one would have to be read
        env = {**server.env(), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.screen)
        self.pending = ""
        self.child = pexpect.spawn(
            str(server.program), cwd=str(self.project.work), env=env, dimensions=(ROWS, COLUMNS), encoding="utf-8", codec_errors="replace"
        )
        self.child.delaybeforesend = None
        return self

    def __exit__(self, *_exc: object) -> None:
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.child.close()

    def wait(self, pattern: str) -> str:
        """The screen, once it shows this."""
        shown = ""

        def is_shown() -> bool:
            nonlocal shown
            shown = self._read()
            return re.search(pattern, shown) is not None

        try:
            until(is_shown, f"{pattern!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{shown}") from None
        return shown

    def type(self, text: str) -> None:
        """Type a text and wait until the prompt shows it."""
        self.child.send(text)
        self.wait(re.escape(text))

    def press(self, key: str, until_shown: str) -> str:
        """Press a key; the screen, once it shows what that leads to."""
        self.child.send(key)
        return self.wait(until_shown)

    def _read(self) -> str:
        try:
            self.pending += self.child.read_nonblocking(1 << 16, _POLL_S)
        except pexpect.TIMEOUT:
            pass
        cut = _CUT_SHORT.search(self.pending)
        whole, self.pending = (self.pending[: cut.start()], cut[0]) if cut else (self.pending, "")
        self.stream.feed(_UNKNOWN.sub("", whole))
        return "\n".join(line.rstrip() for line in self.screen.display)
