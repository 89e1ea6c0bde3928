"""Run `popkit WORDS` in processes of their own, which outlive the hook that starts them."""

from __future__ import annotations

import sys

from . import home
from .system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def command_line(words: Sequence[str]) -> list[str]:
    """Return the command that runs `popkit WORDS` with the interpreter that runs us, as bin/popkit does. No shell reads it."""
    return [sys.executable, "-X", "utf8", "-S", "-E", join(home.plugin_root(), "hooks", "popkit.py"), *words]


def start(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start `popkit WORDS` without waiting for it: in a session of its own, so that no signal to ours reaches it, and without our output,
    because the host waits until that is closed. Return its process id; OSError where it cannot be started."""
    from subprocess import DEVNULL, Popen  # seldom

    child = Popen(  # noqa: S603
        command_line(words), env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    child.returncode = 0  # it is never waited for, and Popen must not warn that it still runs
    return child.pid


def start_if(is_due: Callable[[], bool], words: Sequence[str], environ: Mapping[str, str], hook: str) -> None:
    """Start `popkit WORDS` if it is due. Fails open: an error is logged under the name of a hook."""
    try:
        if is_due():
            start(words, environ)
    except (OSError, ValueError) as error:
        from . import failures  # seldom

        failures.record(environ, hook, error)
