"""The real client in a pseudo terminal: type, wait for what the screen shows, read the screen.

Must never sleep a fixed time where it can wait for something on the screen. Where only stillness tells that something is over, how long
it must last goes by how long the client takes to show what was typed.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
import pyte

from tests.patience import HANG_S, until

from .client import ClientHome, ClientTimeoutError

ENTER, ESCAPE, UP, DOWN, CTRL_C, CTRL_U = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x03", "\x15"
# Sequences that pyte would print or misread: private CSI (kitty keys, modifyOtherKeys, XTVERSION), DCS, APC.
UNKNOWN_TO_PYTE = re.compile(r"\x1b\[[<>=][0-9;]*[ -/]*[@-~]|\x1b[P_^][^\x1b]*\x1b\\")
UNFINISHED = re.compile(r"\x1b(?:\[[<>=0-9;?]*|[P_^\]][^\x1b\x07]*)?\Z")
# How long the client takes to show what was typed where nothing else is at work.
ECHO_S = 0.3
# The one thing of ours that moves for minutes where nothing is at work.
COUNTDOWN = re.compile(r"warm for \d+:\d\d")
WORKING = "esc to interrupt"
READY = re.compile(r"bypass permissions on|\? for shortcuts")


class ClientTerminal:
    """One client on a screen of its own; use it as a context manager."""

    def __init__(
        self,
        home: ClientHome,
        *,
        plugin_dir: Path | None = None,
        resume: str | None = None,
        mcp_server: Path | None = None,
        extra: Sequence[str] = (),
        rows: int = 50,
        columns: int = 120,
    ) -> None:
        self._home = home
        command = home.command(plugin_dir, resume, mcp_server, extra)
        env = {**home.env(), "TERM": "xterm-256color", "COLORTERM": "", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._pending = ""
        self._pace = 1.0  # how many times longer it takes here and now
        self._rows = [""] * rows  # of the screen as it was when it was last looked at
        self._child = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(home.work),
            env=env,
            dimensions=(rows, columns),
            encoding="utf-8",
            codec_errors="replace",
        )
        self._child.delaybeforesend = None

    def __enter__(self) -> ClientTerminal:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

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

    def wait(self, what: str | re.Pattern[str] | Callable[[str], bool], timeout: float = HANG_S) -> list[str]:
        """Wait until the screen shows a text, matches a pattern, or satisfies a test; gives the screen then."""
        deadline = time.monotonic() + timeout
        while True:
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
            if time.monotonic() > deadline or not self._child.isalive():
                ended = "" if self._child.isalive() else ", and the client has ended"
                message = f"waited up to {timeout:.0f} s for {what!r}{ended}; the screen shows:\n{shown}"
                raise ClientTimeoutError(message)

    def wait_ready(self) -> list[str]:
        """Wait for the prompt of a freshly started client."""
        return self.wait(READY)

    def wait_idle(self, quiet: float = 0.6) -> list[str]:
        """Wait until the client is not at work, and nothing on the screen but a countdown has changed for `quiet` seconds; for longer where
        the client is slow."""
        quiet *= self._pace
        deadline = time.monotonic() + HANG_S
        last, since = "", time.monotonic()
        while time.monotonic() - since < quiet:
            now = COUNTDOWN.sub("", self.text())
            if now != last or WORKING in now:
                last, since = now, time.monotonic()
            if time.monotonic() > deadline:
                message = f"the screen never stood still for {quiet} s; it shows:\n{self.text()}"
                raise ClientTimeoutError(message)
        return self.screen()

    def press(self, *keys: str) -> None:
        """Send keys as they are."""
        for key in keys:
            self._child.send(key)

    def type(self, text: str) -> None:
        """Type text into the prompt and wait until it stands there, whether or not the screen says the same elsewhere; once more where none
        of it arrives: the client drops keys between a dialog that closes and the prompt that comes back."""
        tail = _bare(text[-20:])
        before, began = _bare(self.text()).count(tail), time.monotonic()

        def stands(shown: str) -> bool:
            return tail in _bare(shown.rpartition("❯")[2]) or _bare(shown).count(tail) > before

        self._child.send(text)
        try:
            self.wait(stands, 30 * self._pace)
        except ClientTimeoutError:
            began = time.monotonic()
            self.press(CTRL_U)  # should it only be late, it goes before it is there twice
            self._child.send(text)
            self.wait(stands)
        self._pace = max(1.0, (time.monotonic() - began) / ECHO_S, self._pace / 2)

    def send(self, text: str) -> None:
        """Type a prompt and submit it."""
        self.type(text)
        self.press(ENTER)

    def ask(self, prompt: str, is_answered: Callable[[str], bool]) -> None:
        """Submit a prompt and wait for its answer; once more where it is gone without one: the client drops what it gets while it loads a
        session."""
        before = self.text().count(prompt)
        self.send(prompt)
        try:
            self.wait(is_answered, 30 * self._pace)
        except ClientTimeoutError:
            if self._child.isalive() and self.text().count(prompt) <= before:
                self.send(prompt)
            self.wait(is_answered)

    def turn(self, prompt: str, says: str) -> None:
        """Submit a prompt and wait until its turn is over: the screen says `says` once more than before, and what came of the hooks at the
        end stands in the transcript, which the client writes after it has shown it. For a client with hooks there."""
        before, over = self.text().count(says), self._home.turns_over()
        self.ask(prompt, lambda shown: shown.count(says) > before)
        self.wait(lambda _: self._home.turns_over() > over)
        self.wait_idle(0.4)

    def load(self, session_id: str) -> None:
        """Load a session in this window and wait until it stands there. Until then the client shows the command above the prompt, and may
        send what it is asked with the old conversation, or drop it."""
        command = "❯ /resume " + session_id
        self.send(command.removeprefix("❯ "))
        loading = True
        while loading:
            self.wait(lambda shown: command not in shown)
            self.wait_idle(0.5)
            loading = command in self.text()

    def rewind(self, prompts_back: int = 1) -> None:
        """Restore the conversation to before the n-th last prompt, and empty the prompt that it puts back."""
        self._open_rewind()
        for _ in range(prompts_back):
            before = self._chosen()
            self.press_until(UP, lambda _shown, before=before: self._chosen() != before)
        prompt = self._chosen().partition("❯ ")[2][:20]
        self.press_until(ENTER, lambda shown: "Restore conversation" in shown)
        while "Restore conversation" not in self._chosen():
            before = self._chosen()
            self.press_until(DOWN, lambda _shown, before=before: self._chosen() != before)
        self.press_until(ENTER, lambda shown: "Restore conversation" not in shown)
        try:
            self.wait(lambda _shown: prompt in self._chosen(), 30 * self._pace)
            self.press_until(CTRL_U, lambda _shown: prompt not in self._chosen())
        except ClientTimeoutError:
            self.press(CTRL_U)  # it was shown in other words
        self.wait_idle(0.3)

    def _open_rewind(self) -> None:
        """Two Escapes in one read would be one key; too far apart they are two single ones, and then once more."""
        deadline = time.monotonic() + HANG_S
        while True:
            self.wait_idle()
            self.press(ESCAPE)
            self.wait_still(0.2)
            self.press(ESCAPE)
            try:
                self.wait(re.compile(r"❯ \(current\)"), 10 * self._pace)
                return
            except ClientTimeoutError:
                if time.monotonic() > deadline:
                    raise

    def press_until(self, key: str, satisfied: Callable[[str], bool]) -> None:
        """Press a key in a menu, and once more if the menu was drawn before it took keys."""
        self.wait_idle(0.3)
        self.press(key)
        try:
            self.wait(satisfied, 60 * self._pace)
        except ClientTimeoutError:
            self.press(key)
            self.wait(satisfied)

    def _chosen(self) -> str:
        """The menu line that the cursor is on, with its place, which tells equal lines apart."""
        lines = [(row, line.strip()) for row, line in enumerate(self._screen.display) if line.lstrip().startswith("❯")]
        return f"{lines[-1][0]} {lines[-1][1]}" if lines else ""

    def hang_up(self) -> None:
        """Close the terminal under the client, as with its window, and wait until the client has ended."""
        self._child.ptyproc.fileobj.close()
        self._wait_end(lambda: time.sleep(0.02))

    def wait_end(self) -> None:
        """Wait until the client has ended by itself."""
        self._wait_end(self._read)

    def _wait_end(self, meanwhile: Callable[[], None]) -> None:
        deadline = time.monotonic() + HANG_S
        while self._child.isalive():
            if time.monotonic() > deadline:
                message = f"the client still ran after {HANG_S:.0f} s"
                raise ClientTimeoutError(message)
            meanwhile()

    def leave(self) -> None:
        """End the client by Ctrl-C, as often as it takes: the first one may stop a turn or empty the prompt, two in a row leave. One more
        would cut off the hooks that the end of a session fires."""
        deadline = time.monotonic() + HANG_S
        while self._child.isalive() and time.monotonic() < deadline:
            self.press(CTRL_C)
            try:
                self.wait(lambda shown: "again to exit" in shown or not self._child.isalive(), 10 * self._pace)
                self.press(CTRL_C)
                self.wait(lambda _shown: not self._child.isalive(), 60 * self._pace)
            except ClientTimeoutError:
                continue  # it has ended, or did not take the key for what it was meant to be

    def close(self) -> None:
        """End the client: politely, so that it fires SessionEnd, else by force."""
        self.leave()
        if self._child.isalive():
            os.killpg(self._child.pid, signal.SIGKILL)
            until(lambda: not self._child.isalive(), "the client is gone")
        self._child.close()

    def wait_still(self, seconds: float) -> None:
        """Keep reading for a while: for keys that the client takes in by time, such as a double Escape."""
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
        unfinished = UNFINISHED.search(self._pending)
        cut = unfinished.start() if unfinished else len(self._pending)
        ready, self._pending = self._pending[:cut], self._pending[cut:]
        self._stream.feed(UNKNOWN_TO_PYTE.sub("", ready))


def _bare(shown: str) -> str:
    """Without spaces, ends of lines and frames: however it is wrapped."""
    return re.sub(r"[\s│|]", "", shown)
