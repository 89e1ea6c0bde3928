"""Processes of ours that outlive the hook that starts them."""

from __future__ import annotations

import sys

from . import home
from .system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def command_line(words: Sequence[str]) -> list[str]:
    """The command that runs `popkit WORDS` with the interpreter that runs us, as bin/popkit does. No shell reads it."""
    return [sys.executable, "-X", "utf8", "-S", "-E", join(home.plugin_root(), "hooks", "popkit.py"), *words]


def start(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Starts `popkit WORDS` and waits for nothing of it: in a session of its own, so that no signal to ours reaches it, and without our
    output, for the host waits until that is closed. Its process id; OSError where it cannot be started."""
    from subprocess import DEVNULL, Popen  # seldom

    child = Popen(  # noqa: S603
        command_line(words), env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    child.returncode = 0  # nobody asks how it ended, and nobody is to be warned that it runs still
    return child.pid
