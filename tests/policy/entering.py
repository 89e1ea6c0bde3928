"""Results that enter a context through the door, for its tests."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from benchmarks import reference_decoder as reading
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door

FORMS = {"arrow": "{number:>6}→{line}", "tab": "{number}\t{line}"}

# Few different lines, so that runs meet, overlap and stand several times; and some that look like what the door itself writes.
line = st.sampled_from(
    [*(f"    value_{at} = compute_the_thing({at}, again=True)" for at in range(5)), "", "}", "\t\tindented", "\ud800 lone"]
)
block = st.lists(line, min_size=0, max_size=40)


def body(name: str, count: int = 30) -> list[str]:
    """Lines that stand nowhere else."""
    return [f"    {name}_{at} = configure('{name}', step={at}, retries=3)" for at in range(count)]


def read_of(lines: list[str], first: int = 1, form: str = "arrow") -> str:
    return "\n".join(FORMS[form].format(number=number, line=line) for number, line in enumerate(lines, first))


class DoorContext:
    """A context that results enter through the door."""

    def __init__(self, say_once: str = door.ANY, shape: str = door.OFF) -> None:
        self.shown = door.ContextLines()
        self.settings = door.Settings(say_once, shape)
        self.count = 0

    def arrives(
        self, text: str, tool: str = "Bash", path: str = "", error: bool = False, again: bool = False, kind: str = "", **tool_input: str
    ) -> door.Entry:
        self.count += 1
        kind = kind or {"Read": "file", "Bash": "search"}.get(tool, "ack")
        if tool == "Read":
            tool_input = {"file_path": path, **tool_input}
        name = door.name_of(TOOLS.of(tool), tool_input, "/")
        arrival = door.Arrival(f"toolu_{self.count}", TOOLS.of(tool), tool_input, kind, name, text, error, path, again)
        entry = door.enter(arrival, self.shown, self.settings)
        for source in door.shows(arrival, entry.text, self.settings):
            self.shown.add(source)
        return entry

    def reads(self, lines: list[str], first: int = 1, form: str = "arrow", path: str = "/a.py", after: str = "") -> door.Entry:
        return self.arrives(read_of(lines, first, form) + after, "Read", path)


def shaped(shape: str) -> door.Settings:
    """Settings of which `shape` alone leaves something out."""
    return door.Settings(door.OFF, shape)


def references(text: str) -> list[re.Match[str]]:
    return [reference for _, reference in reading.references(text)]
