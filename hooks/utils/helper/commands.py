"""Run commands of `popkit` for the pane (`bill`, `bill limits` …), in processes of their own: the transcripts that they read would fill the
helper's memory.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook loads the helper
import subprocess  # noqa: TID253
import threading

from ..io import hook_log, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_LONGEST_S = 300.0
_DATA_S = 60.0
# A person waits this long (seconds) for an answer; after that it is on its way.
_PATIENCE_S = 4.0
_READING = "PopKit is still working on this, which takes long only the first time. Ask again in a minute."


class _Run:
    """A command that runs, for however long."""

    def __init__(self, run: Callable[[], str]) -> None:
        self._printed: list[str] = []
        self._thread = threading.Thread(target=lambda: self._printed.append(run()), daemon=True)
        self._thread.start()

    def wait(self) -> str | None:
        """Return its output; None if that takes longer than a person waits: the command goes on."""
        self._thread.join(_PATIENCE_S)
        return self._printed[0] if self._printed else None


class Commands:
    """Runs of `popkit` in the folder of a session."""

    def __init__(self, environ: Mapping[str, str], cwd: str) -> None:
        self.environ = {**environ, "CLAUDE_PROJECT_DIR": cwd} if cwd else dict(environ)
        self.cwd = cwd or None
        self._late: dict[str, _Run] = {}  # by the words that were asked
        self._data: dict[str, tuple[float, Any]] = {}  # command -> when it was read, and what it printed

    def run(self, words: str) -> str:
        """Return what `popkit WORDS` prints, any command; or, where that takes long, that it goes on."""
        from ..operations.context_words import split  # seldom

        self._data = {}
        running = self._late.pop(words, None) or self._begun(split(words))
        printed = running.wait()
        if printed is None:
            self._late[words] = running
        return printed or _READING

    def data(self, command: str, now: float) -> Any:
        """Return what `popkit COMMAND --json` prints (`bill`, of the project, or `bill limits`), at most a minute old; {"error": why} where
        there is nothing."""
        at, data = self._data.get(command, (-_DATA_S, {}))
        if not 0 <= now - at < _DATA_S:
            printed = self._begun([*command.split(), "--json"]).wait()
            try:
                data = json.loads(printed or json.dumps({"error": _READING}))
            except ValueError:
                data = {"error": printed}
            self._data[command] = (now if printed else -_DATA_S, data)
        return data

    def _begun(self, words: list[str]) -> _Run:
        return _Run(lambda: self._run(words))

    def _run(self, words: list[str]) -> str:
        """Return what the command prints; it never asks on a terminal."""
        try:
            done = subprocess.run(  # noqa: S603  our own command; words are arguments, never a shell's
                processes.popkit_command(words), env=self.environ, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=_LONGEST_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            hook_log.log_failure(self.environ, words[0], error)
            return f"popkit {words[0]} did not answer: {error}"
        return done.stdout.decode("utf-8", "replace").strip("\n")
