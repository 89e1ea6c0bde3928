"""Answer `memory`: on or off here, every other word by `popkit memory` in a process of its own. Its marks and alerts are shown unasked."""

from __future__ import annotations

import os

from .. import text
from ..io import processes
from ..state import marked, memory, memory_alerts
from ..views import marks
from ..views import memory_in_session as views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..state.site import Site
    from ..views.shapes import MemorySwitch

# The host ends a hook on a prompt after 30 s.
LIMIT_S = 25.0
CALLED_AS = "POPKIT_CALLED_AS"  # the beginning of the commands in its answers


def turn(on: bool, site: Site, now: float) -> MemorySwitch:
    """Switch memory on or off for the project of a site; return what was done. OSError where it cannot be written."""
    project = memory.project_of(site.lasting_home, _folder_of(site))
    changed = project.turn_on(now) if on else project.turn_off(now)
    configured = site.config.get("memory") or {}
    return {
        "on": on, "changed": changed, "project": project.repository.name, "folder": project.folder, "tokens": memory.tokens_of(site.config),
        "store": configured.get("store") or f"{site.lasting_home}/{memory.STORE}", "summariser": configured.get("summariser") or "",
    }  # fmt: skip


def mark_lines(site: Site, command: str, now: float) -> list[text.Line]:
    """Return what tools and the hourly job have marked for deletion in the project of a site. `command`: how the reader calls us."""
    if not marked.has_marked(site.home):
        return []
    rows = marked.marked_of(site.home, memory.project_of(site.home, _folder_of(site)).repository.key)
    lines = [line for part, row in rows for line in marks.marks(part, row, now, views.called(command))]
    return ["", *lines] if lines else []


def alert_lines(site: Site, command: str) -> list[text.Line]:
    """Return which valuable memories are about to be forgotten, once. `command`: how the reader calls us."""
    if not memory.is_used(site.home):
        return []
    try:
        project = memory.project_of(site.home, _folder_of(site))
        due = memory_alerts.unseen_alerts(project)
        if due:
            memory_alerts.note_alerts_seen(project, list(due))
    except OSError:
        return []  # it is shown once that can be noted
    return views.alerts(due, command) if due else []


def ask(words: Sequence[str], site: Site, command: str) -> tuple[int, str, str]:
    """Return (exit code, output, errors) of `popkit memory WORDS` in the project of a site. `command`: how the reader calls us."""
    import subprocess  # only here, and seldom

    folder = _folder_of(site)
    environ = {**site.environ, "CLAUDE_CODE_SESSION_ID": site.session_id, CALLED_AS: views.called(command)}
    try:
        done = subprocess.run(  # noqa: S603
            processes.popkit_command(["memory", *words]), env=environ, cwd=folder if os.path.isdir(folder) else None,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, "", f"this takes longer than {LIMIT_S:.0f} s. Run it in a shell: popkit memory {' '.join(map(text.clean, words))}"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return 1, "", f"popkit memory could not be started: {error}"
    output, errors = (each.decode("utf-8", "replace").strip("\n") for each in (done.stdout, done.stderr))
    return done.returncode, output, errors


def _folder_of(site: Site) -> str:
    return site.session_project or os.getcwd()
