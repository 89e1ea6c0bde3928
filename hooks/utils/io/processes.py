"""Run `popkit WORDS` in processes of their own, which outlive the hook that starts them."""

from __future__ import annotations

import sys

from . import home
from .system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def popkit_command(words: Sequence[str]) -> list[str]:
    """Return the command that runs `popkit WORDS` with the interpreter that runs us, as bin/popkit does. No shell reads it."""
    return [sys.executable, "-X", "utf8", "-S", "-E", join(home.plugin_root(), "hooks", "popkit.py"), *words]


def start_popkit(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start `popkit WORDS` without waiting for it: in a session of its own, so that no signal to ours reaches it, and without our output,
    because the host waits until that is closed. Return its process id; OSError where it cannot be started."""
    from subprocess import DEVNULL, Popen  # seldom

    child = Popen(  # noqa: S603
        popkit_command(words), env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    child.returncode = 0  # it is never waited for, and Popen must not warn that it still runs
    return child.pid
