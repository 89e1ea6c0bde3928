"""How much work a function does: counted, so that a busy machine counts the same."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps(function: Callable[..., object], *arguments: object) -> int:
    """How many lines of Python run while a function does. What the interpreter does in one step, such as searching a text, counts once:
    the time of that is a matter for --bench."""
    count = 0

    def line(_frame, event: str, _argument):
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count
