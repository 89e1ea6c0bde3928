"""`memory`: `on` and `off` are answered here, every other word by `popkit memory` in a process of its own."""

from __future__ import annotations

import os

from .. import text
from ..edges import children
from ..state import days, marked, memory
from . import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..state.site import Site

# The host ends a hook on a prompt after 30 s.
LIMIT_S = 25.0
CALLED_AS = "POPKIT_CALLED_AS"  # what an answer tells to type begins with
_SHELL = "popkit context"
_SHOWN_LINES = 400
_NAME = 40  # columns of a project's


def turn(on: bool, site: Site, now: float) -> dict[str, Any]:
    """Switches memory on or off for the project of a site; what came of it. OSError where it cannot be written."""
    project = memory.project_of(site.home, _folder_of(site))
    changed = project.turn_on(now) if on else project.turn_off(now)
    configured = site.config.get("memory") or {}
    return {
        "on": on, "changed": changed, "project": project.repository.name, "folder": project.folder, "tokens": memory.tokens_of(site.config),
        "store": configured.get("store") or f"{site.home}/{memory.STORE}", "summariser": configured.get("summariser") or "",
    }  # fmt: skip


def turned_lines(found: dict[str, Any], command: str) -> list[str]:
    """What `on` and `off` answer. `command`: how the reader calls us."""
    name = text.cut(text.clean(found["project"]).strip(), _NAME) or "this project"
    us = _called(command)
    already = "" if found["changed"] else "already "
    store = text.clean(found["store"])
    if not found["on"]:
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
            f"errors with what fixed them, and what you told it to remember. {_leaves(found)}"
        ),
        *text.wrap(
            f"New sessions then begin with MEMORY.md, and so does this one after a compaction: at most {found['tokens']:,} tokens, which "
            f"every prompt carries. {command} stats shows what that cost and what it spared."
        ),
        *text.wrap(f"It is kept in {store}, and MEMORY.md in {text.clean(found['folder'])}."),
        "To learn from the sessions so far:",
        f"  {us} learn --past",
        "To switch it off:",
        f"  {us} off",
    ]


def _called(command: str) -> str:
    """How the reader calls `popkit memory`."""
    return "popkit memory" if command == _SHELL else f"{command} memory"


def _leaves(found: dict[str, Any]) -> str:
    """Who else gets to see what is remembered."""
    said = ["Your own summariser (memory.summariser) is given texts that have become too long." if found["summariser"] else ""]
    said += ["What is remembered is sent to that server alone (memory.store)." if "://" in found["store"] else ""]
    return " ".join(filter(None, said)) or "No model is called, and nothing leaves this machine."


def mark_lines(site: Site, command: str, now: float) -> list[str]:
    """What tools and the hourly job have marked for deletion. `command`: how the reader calls us."""
    if not marked.is_there(site.home):
        return []
    return marks.lines(site.home, memory.project_of(site.home, _folder_of(site)).repository.key, now, _called(command))


def alert_lines(site: Site, command: str) -> list[str]:
    """What of value is about to be forgotten, told once. `command`: how the reader calls us."""
    if not memory.is_used(site.home):
        return []
    try:
        project = memory.project_of(site.home, _folder_of(site))
        due = project.untold_alerts()
        if due:
            project.told_alerts(list(due))
    except OSError:
        return []  # it is told when it can be noted that it was
    if not due:
        return []
    many = f"{text.counted(len(due), 'memory') if len(due) == 1 else f'{len(due):,} memories'} of value will be forgotten by"
    return ["", *text.wrap(f"{many} {days.day_of(max(due.values()))}: {_called(command)} status")]


def ask(words: Sequence[str], site: Site, command: str) -> tuple[int, str, str]:
    """(exit code, output, errors) of `popkit memory WORDS` in the project of a site. `command`: how the reader calls us."""
    import subprocess  # only here, and seldom

    folder = _folder_of(site)
    environ = {**site.environ, "CLAUDE_CODE_SESSION_ID": site.session_id, CALLED_AS: _called(command)}
    try:
        done = subprocess.run(  # noqa: S603
            children.command_line(["memory", *words]), env=environ, cwd=folder if os.path.isdir(folder) else None,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, "", f"this takes longer than {LIMIT_S:.0f} s. Run it in a shell: popkit memory {' '.join(map(text.clean, words))}"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return 1, "", f"popkit memory could not be started: {error}"
    output, errors = (each.decode("utf-8", "replace").strip("\n") for each in (done.stdout, done.stderr))
    return done.returncode, output, errors


def shown(output: str) -> list[str]:
    """The lines of an output, as Claude Code may write them to a terminal."""
    lines = list(map(text.visible, output.split("\n")))
    more = len(lines) - _SHOWN_LINES
    return [*lines[:_SHOWN_LINES], f"… {text.counted(more, 'more line')}: run popkit memory in a shell"] if more > 0 else lines


def _folder_of(site: Site) -> str:
    return site.session_project or os.getcwd()
