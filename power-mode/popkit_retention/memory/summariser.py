"""The user's own summariser: a command that prints the summary of a text. Only this command sees the text."""

from __future__ import annotations

import os
import signal
import threading
from typing import IO, Any

from popkit_retention.core.errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence


PATIENCE_S = 60.0  # the summariser's time
LONGEST_ANSWER = 1_000_000  # bytes: a summariser that prints more is killed
LONGEST_COMPLAINT = 10_000  # bytes of its errors are kept


class SummariserFailed(PopkitError, RuntimeError):
    """The user's own summariser returned no summary; the message says which summariser, and why."""


class SummariserLate(SummariserFailed):
    """The summariser took too long."""


def summarise_with(command: str | Sequence[str], text: str, timeout_s: float = PATIENCE_S) -> str:
    """Return what the user's own summariser prints for a text that it reads from stdin. Start it without a shell (`command` as typed, or as
    a list), and kill it with all its children when its time is over. Raise SummariserFailed where it prints nothing, fails, or takes too
    long."""
    import subprocess
    import tempfile

    words = _words(command)
    name = words[0]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(text.encode("utf-8", "replace"))
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own command, never a shell's
                words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
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
    """Return the first bytes that come through a pipe, at most one more than `most`; call `too_much` once and discard the rest."""
    data = bytearray()
    while pipe is not None and (chunk := os.read(pipe.fileno(), 65_536)):
        if len(data) <= most:
            data += chunk[: most + 1 - len(data)]
            if len(data) > most:
                too_much()
    return bytes(data)


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
    import shlex

    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise SummariserFailed(f"{command!r:.80} is not a command: {error}") from error
    if not words:
        raise SummariserFailed("the summariser's command is empty")
    return words


def _end(process: subprocess.Popen[Any], late: threading.Event) -> None:
    """Kill a process with all its children."""
    late.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # it is over; or a system without process groups
        process.kill()
