"""A summariser of the user's own: a command that reads a text and prints its summary. Nothing but this command sees the text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_S = 60.0  # so long it has
LONGEST_ANSWER = 1_000_000  # bytes of what it prints are read


class SummariserFailed(RuntimeError):
    """The user's own summariser gave no summary; the message says which one, and why."""


def summarise_with(command: str | Sequence[str], text: str, timeout_s: float = PATIENCE_S) -> str:
    """What the user's own summariser prints for a text that it reads from stdin. It is started without a shell (`command` as one would type
    it, or as a list), and ended with all that it has started when its time is over. SummariserFailed where it says nothing, fails, or takes
    too long."""
    words = _words(command)
    name = words[0]
    try:
        process = subprocess.Popen(  # noqa: S603  the user's own command, never a shell's
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise SummariserFailed(f"{name} cannot be started: {error}") from error
    late = threading.Event()
    watch = threading.Timer(timeout_s, _end, (process, late))
    watch.start()
    try:
        said, complaint = process.communicate(text.encode("utf-8", "replace"))
    finally:
        watch.cancel()
    if late.is_set():
        raise SummariserFailed(f"{name} took longer than {timeout_s:g} seconds")
    if process.returncode:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SummariserFailed(f"{name} failed with exit status {process.returncode}" + (f": {last:.200}" if last else ""))
    answer = said[:LONGEST_ANSWER].decode("utf-8", "replace").replace("\0", "").strip()
    if not answer:
        raise SummariserFailed(f"{name} printed nothing")
    return answer


def _words(command: str | Sequence[str]) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise SummariserFailed(f"{command!r:.80} is not a command: {error}") from error
    if not words:
        raise SummariserFailed("the summariser's command is empty")
    return words


def _end(process: subprocess.Popen[Any], late: threading.Event) -> None:
    """Ends a process with all that it has started."""
    late.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # it is over; or a system without process groups
        process.kill()
