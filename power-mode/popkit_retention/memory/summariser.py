"""A summariser of the user's own: a command that reads a text and prints its summary. Nothing but this command sees the text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE_S = 60.0  # so long it has
LONGEST_ANSWER = 1_000_000  # bytes: one that prints more is ended
LONGEST_COMPLAINT = 10_000  # bytes of its errors are kept


class SummariserFailed(RuntimeError):
    """The user's own summariser gave no summary; the message says which one, and why."""


class SummariserLate(SummariserFailed):
    """It took too long."""


def summarise_with(command: str | Sequence[str], text: str, timeout_s: float = PATIENCE_S) -> str:
    """Return what the user's own summariser prints for a text that it reads from stdin. It is started without a shell (`command` as one
    would type it, or as a list), and killed with all that it has started when its time is over. Raise SummariserFailed where it prints
    nothing, fails, or takes too long."""
    words = _words(command)
    name = words[0]
    with tempfile.TemporaryFile() as given:
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own command, never a shell's
                words, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise SummariserFailed(f"{name} cannot be started: {error}") from error
    late = threading.Event()
    watch = threading.Timer(timeout_s, _end, (process, late))
    watch.start()
    complaints: list[bytes] = []
    complaining = threading.Thread(target=lambda: complaints.append(_read(process.stderr, LONGEST_COMPLAINT)))
    complaining.start()
    try:
        output = _read(process.stdout, LONGEST_ANSWER, lambda: _end(process, threading.Event()))
        process.wait()
        complaining.join()
    finally:
        watch.cancel()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    return _answer(name, output, b"".join(complaints), process.returncode, f"{timeout_s:g}" if late.is_set() else "")


def _read(pipe: IO[bytes] | None, most: int, too_much: Callable[[], None] = lambda: None) -> bytes:
    """Return the first bytes that come through a pipe, one more than `most` at the most; the rest is discarded, once `too_much` was
    called."""
    kept = bytearray()
    while pipe is not None and (chunk := os.read(pipe.fileno(), 65_536)):
        if len(kept) <= most:
            kept += chunk[: most + 1 - len(kept)]
            if len(kept) > most:
                too_much()
    return bytes(kept)


def _answer(name: str, output: bytes, complaint: bytes, status: int, late: str) -> str:
    if late:
        raise SummariserLate(f"{name} took longer than {late} seconds")
    if len(output) > LONGEST_ANSWER:
        raise SummariserFailed(f"{name} printed more than {LONGEST_ANSWER:,} bytes")
    if status:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SummariserFailed(f"{name} failed with exit status {status}" + (f": {last:.200}" if last else ""))
    answer = output.decode("utf-8", "replace").replace("\0", "").strip()
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
    """Kill a process with all that it has started."""
    late.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # it is over; or a system without process groups
        process.kill()
