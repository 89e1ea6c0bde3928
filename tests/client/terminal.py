"""The real client in a pseudo terminal: type, submit, answer its dialogs.

Where only stillness tells that something is over, how long it must last goes by how long the client takes to show what was typed. A key is
pressed again only where the screen shows that the first one had no effect.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.patience import until

from .client import ClientHome, ClientTimeoutError
from .screen import Screen

ENTER, ESCAPE, UP, DOWN, CTRL_C, CTRL_U = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x03", "\x15"
# How long the client takes to show what was typed where nothing else is at work.
ECHO_S = 0.3
# After how long a key is pressed again where nothing else is at work: the client drops keys between a dialog that closes and the prompt
# that comes back, and while it draws a menu.
DROPPED_S = 30.0
# What the prompt stands between.
RULE = "───"
# The one thing of ours that moves for minutes where nothing is at work.
COUNTDOWN = re.compile(r"warm for \d+:\d\d")
WORKING = "esc to interrupt"
READY = re.compile(r"bypass permissions on|auto mode on|\? for shortcuts")


class ClientTerminal(Screen):
    """One client on a screen of its own; use it as a context manager."""

    dropped_s = DROPPED_S

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
        self._pace = 1.0  # how many times longer it takes here and now
        super().__init__(command, cwd=home.work, env=env, rows=rows, columns=columns)

    def __enter__(self) -> ClientTerminal:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def wait_ready(self) -> list[str]:
        """Wait for the prompt of a freshly started client."""
        return self.wait(READY)

    def wait_idle(self, quiet: float = 0.6) -> list[str]:
        """Wait until the client is not at work, and nothing on the screen but a countdown has changed for `quiet` seconds; for longer where
        the client is slow."""
        quiet *= self._pace
        deadline = time.monotonic() + self._patience_s
        last, since = "", time.monotonic()
        while time.monotonic() - since < quiet:
            now = COUNTDOWN.sub("", self.text())
            if now != last or WORKING in now:
                last, since = now, time.monotonic()
            if time.monotonic() > deadline:
                message = f"the screen never stood still for {quiet} s; it shows:\n{self.text()}"
                raise ClientTimeoutError(message)
        return self.screen()

    def prompt(self) -> str:
        """What is typed in the prompt, or else the hint there; "" where the client shows no prompt."""
        rows = self.screen()
        for top in range(len(rows) - 2, -1, -1):
            if rows[top].startswith(RULE) and rows[top + 1].startswith("❯"):
                end = next((end for end in range(top + 1, len(rows)) if rows[end].startswith(RULE)), len(rows))
                return "\n".join(rows[top + 1 : end]).removeprefix("❯").strip()
        return ""

    def _holds(self, text: str) -> bool:
        return _bare(self.prompt()).startswith(_bare(text))

    def type(self, text: str) -> None:
        """Type text into the prompt and wait until it stands there; again where it does not arrive, or not all of it."""
        began = 0.0

        def enter() -> None:
            nonlocal began
            if began:
                self._empty_prompt()
            began = time.monotonic()
            self.press(text)

        self.insist(enter, lambda _shown: self._holds(text), self.dropped_s * self._pace)
        self._pace = max(1.0, (time.monotonic() - began) / ECHO_S, self._pace / 2)

    def _empty_prompt(self) -> None:
        """One Ctrl-U takes a row, and several in one read may be none."""
        for _ in self.prompt().splitlines():
            self.press(CTRL_U)
            self.wait_still(0.2 * self._pace)

    def send(self, text: str) -> None:
        """Type a prompt and submit it."""
        self.type(text)
        self.submit(text)

    def submit(self, text: str) -> None:
        """Press Enter, and again where the text that was typed still stands in the prompt."""
        self.insist(
            lambda: self.press(ENTER), lambda _shown: not self._child.isalive() or not self._holds(text), self.dropped_s * self._pace
        )

    def interrupt(self) -> None:
        """Press Escape until the client says once more that it was interrupted.

        Again after a fixed time, however slow the client is: what is interrupted has to be at work still."""
        before = self.text().count("Interrupted")
        self.insist(lambda: self.press(ESCAPE), lambda shown: shown.count("Interrupted") > before, self.dropped_s)

    def ask(self, prompt: str, is_answered: Callable[[str], bool]) -> None:
        """Submit a prompt and wait for its answer; once more where it is gone without one: the client drops what it gets while it loads a
        session."""
        before = self.text().count(prompt)
        self.send(prompt)
        try:
            self.wait(is_answered, self.dropped_s * self._pace)
        except ClientTimeoutError:
            if self._child.isalive() and WORKING not in self.text() and self.text().count(prompt) <= before:
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
            self.wait(lambda _shown: prompt in self._chosen(), self.dropped_s * self._pace)
            self.press_until(CTRL_U, lambda _shown: prompt not in self._chosen())
        except ClientTimeoutError:
            self.press(CTRL_U)  # it was shown in other words
        self.wait_idle(0.3)

    def _open_rewind(self) -> None:
        """Two Escapes in one read would be one key; too far apart they are two single ones, and then once more."""

        def escape_twice() -> None:
            self.wait_idle()
            self.press(ESCAPE)
            self.wait_still(0.2)
            self.press(ESCAPE)

        self.insist(escape_twice, lambda shown: "❯ (current)" in shown, 10 * self._pace)

    def press_until(self, key: str, satisfied: Callable[[str], bool]) -> None:
        """Press a key in a menu, and again where the menu was drawn before it took keys."""
        self.wait_idle(0.3)
        self.insist(lambda: self.press(key), satisfied, 2 * self.dropped_s * self._pace)

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
        deadline = time.monotonic() + self._patience_s
        while self._child.isalive():
            if time.monotonic() > deadline:
                message = f"the client still ran after {self._patience_s:.0f} s"
                raise ClientTimeoutError(message)
            meanwhile()

    def leave(self) -> None:
        """End the client by Ctrl-C, as often as it takes: the first one may stop a turn or empty the prompt, two in a row leave. One more
        would cut off the hooks that the end of a session fires."""
        deadline = time.monotonic() + self._patience_s
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


def _bare(shown: str) -> str:
    """Without spaces, ends of lines and frames: however it is wrapped."""
    return re.sub(r"[\s│|]", "", shown)
