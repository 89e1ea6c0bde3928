"""One line that says how a run ended or what an error said."""

from __future__ import annotations

from .masking import mask

VERDICT_CHARS = 120
# Words of the line, near the end of an output, that tells how it went.
_TELLING = ("passed", "failed", "passing", "failing", "error", "Error", "FAIL", "PASS", "ok", "panicked", "problems", "Found")


def verdict_of(tail: str, exit_code: int | None) -> str:
    """The telling line of an output's end, at most 120 characters, secrets masked; with the exit code where it is known."""
    lines = [line for line in map(str.strip, tail.splitlines()[-30:]) if line]
    told = [line for line in lines if any(word in line for word in _TELLING)]
    counted = [line for line in told if any(char.isdigit() for char in line)]
    best = (counted or told or lines or [""])[-1]
    if exit_code is None:
        return mask(best[:VERDICT_CHARS])
    return mask(f"exit {exit_code}: {best}"[:VERDICT_CHARS]).rstrip(": ")
