"""The text on memory in a session. Plain values in, lines out. Pure."""

from __future__ import annotations

from .. import text, units
from ..io.system import day_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .shapes import MemorySwitch

_SHELL = "popkit context"
_SHOWN_LINES = 400
_NAME = 40  # columns of a project's


def turned_lines(switched: MemorySwitch, command: str) -> list[text.Line]:
    """Return the answer to `on` and `off`. `command`: how the reader calls us."""
    name = text.cut(text.clean(switched["project"]).strip(), _NAME) or "this project"
    us = called(command)
    already = "" if switched["changed"] else "already "
    store = text.clean(switched["store"])
    if not switched["on"]:
        return [
            *text.title(f"Memory is {already}off for {name}"),
            *text.wrap(f"New sessions get no MEMORY.md, and nothing more is learnt. What is remembered stays in {store}."),
            "To use it again:",
            f"  {us} on",
            "To delete all of it, after a day in which you can undo that:",
            f"  {us} forget --all",
        ]
    if already:
        return [*text.title(f"Memory is already on for {name}"), "To see what it holds:", f"  {us}"]
    return [
        *text.title(f"Memory is on for {name}"),
        *text.wrap(
            "When a session ends or is compacted, a process in the background notes the files it worked on, the commands that worked, "
            f"errors with what fixed them, and what you told it to remember. {_leaves(switched)}"
        ),
        *text.wrap(
            f"New sessions then begin with MEMORY.md, and so does this one after a compaction: at most {switched['tokens']:,} tokens, "
            f"which every prompt carries. {command} stats shows what that cost and what it spared."
        ),
        *text.wrap(f"It is kept in {store}, and MEMORY.md in {text.clean(switched['folder'])}."),
        "To learn from the sessions so far:",
        f"  {us} admin learn --past",
        "To switch it off:",
        f"  {us} off",
    ]


def called(command: str) -> str:
    """Return how the reader calls `popkit memory`."""
    return "popkit memory" if command == _SHELL else f"{command} memory"


def _leaves(switched: MemorySwitch) -> str:
    """Return a sentence on who else sees the memories."""
    parts = ["Your own summariser (memory.summariser) is given texts that have grown too long." if switched["summariser"] else ""]
    parts += ["What is remembered is sent to that server alone (memory.store)." if "://" in switched["store"] else ""]
    return " ".join(filter(None, parts)) or "No model is called, and nothing leaves this machine."


def alerts(due: Mapping[str, float], command: str) -> list[text.Line]:
    """Return which valuable memories are about to be forgotten, and when. `due`: id -> seconds; `command`: how the reader calls us."""
    many = f"{'1 valuable memory' if len(due) == 1 else f'{len(due):,} valuable memories'} will be forgotten by"
    return ["", *text.wrap(f"{many} {day_of(max(due.values()))}: {called(command)} status")]


def terminal_lines(output: str) -> list[str]:
    """Return the lines of an output, as Claude Code may write them to a terminal."""
    lines = list(map(text.visible, output.split("\n")))
    more = len(lines) - _SHOWN_LINES
    return [*lines[:_SHOWN_LINES], f"… {units.counted(more, 'more line')}: run popkit memory in a shell"] if more > 0 else lines
