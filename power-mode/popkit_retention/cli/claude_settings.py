"""Change Claude Code's settings, on a yes after the change was shown: `popkit statusline install` adds the status line, `popkit statusline
uninstall` removes it again.

A file keeps its order, its spacing and its mode; another status line is put aside and comes back on `uninstall`.
"""

from __future__ import annotations

import os
import shlex

from popkit_retention.core.io import files, home
from popkit_retention.core.io.codec import loads
from popkit_retention.core.io.storage import LOGS, Storage

from . import json_text, settings_file, terminal
from .answering import Refused
from .shell_setup import copy_in_use, is_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


KEY = "statusLine"
SCRIPT = "statusline.sh"
PREVIOUS = "statusline.previous.json"
STORAGE = (Storage(LOGS, {"": r"statusline\.(sh|previous\.json)"}),)
_FOLDER = "${POPKIT_HOME:-${CLAUDE_CONFIG_DIR:-$HOME/.claude}/popkit}"
# In a project's settings, the same for everyone: the script behind it is each user's own. A shell expands no `~` in a variable.
SHARED = f'popkit="{_FOLDER}"; case "$popkit" in "~"|"~/"*) popkit=$HOME${{popkit#?}};; esac; sh "$popkit/{SCRIPT}"'


def value(scope: str, popkit_home: str) -> dict[str, object]:
    """Return the status line for settings of a scope. In the user's own settings it uses no variable: a project's settings could set one,
    and so choose which program runs."""
    command = f"sh {shlex.quote(os.path.join(popkit_home, SCRIPT))}" if scope == "user" else SHARED
    # Between events, the remaining time of the cache counts down.
    return {"type": "command", "command": command, "refreshInterval": 30}


class Settings:
    """The status line in one settings.json, which is read once."""

    def __init__(self, scope: str, environ: Mapping[str, str]):
        self.environ = environ
        self.home = home.popkit_home(environ)
        self.value = value(scope, self.home)
        self.previous = settings_file.ReplacedValues(PREVIOUS, environ)
        project = environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        folder = home.claude_folder(environ) if scope == "user" else os.path.join(os.path.abspath(project), ".claude")
        self.path = os.path.realpath(os.path.join(folder, "settings.json"))
        self.text = settings_file.read(self.path)
        try:
            self.current = json_text.value_text(self.text or "{}", KEY)
        except (ValueError, RecursionError) as error:
            raise Refused(f"{self.path} is left alone, because it is not valid: {error}") from None

    def ours(self) -> dict | None:
        """Return the status line in the settings if it is ours, of any version; else None."""
        current = loads(self.current) if self.current else None
        return current if isinstance(current, dict) and self._is_ours(current.get("command")) else None

    def _is_ours(self, command: object) -> bool:
        is_shared = isinstance(command, str) and _FOLDER in command and command.endswith(f'/{SCRIPT}"')
        return is_shared or command == value("user", self.home)["command"]

    def is_agreed(self, after: str, yes: bool) -> bool:
        """Show the change and ask for it."""
        settings_file.show_change(self.path, self.text, after, self.environ)
        return settings_file.is_confirmed(yes)

    def write(self, after: str) -> None:
        """Write the change that was shown, if the file has not changed since."""
        settings_file.write(self.path, self.text, after)


def install_status_line(scope: str, yes: bool, replace: bool, environ: Mapping[str, str]) -> int:
    """Install the status line, after showing the change and asking. Return 0 when it is installed afterwards."""
    if is_package():
        raise Refused("the line is for sessions with the plugin. Install that, and run this from it", "claude plugin install popkit@popkit")
    settings = Settings(scope, environ)
    ours = settings.ours()
    if settings.current and ours is None and not replace:
        raise Refused(
            f"{settings.path} has another status line: {settings.current}. --replace sets it aside, and `popkit statusline uninstall`"
            " brings it back"
        )
    before = settings.text or "{}\n"
    wanted = {**(ours or {}), **settings.value}
    after = json_text.with_value(before, KEY, json_text.formatted(before, wanted))
    if ours == wanted:
        _write_script(settings)
        terminal.say(f"The status line is already installed in {settings.path}.", environ)
        return 0
    if not settings.is_agreed(after, yes):
        return 1
    _write_script(settings)
    if settings.current is None:
        settings.previous.forget(settings.path)
    elif ours is None:
        settings.previous.keep(settings.path, settings.current)
    settings.write(after)
    terminal.say(f"Installed in {settings.path}. It shows with the next answer in every running session.", environ)
    return 0


def uninstall_status_line(scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Restore the previous status line. Return 0 when ours is not in the settings afterwards."""
    settings = Settings(scope, environ)
    if settings.ours() is None:
        terminal.say(f"The status line is not in {settings.path}, so nothing was changed.", environ)
        return 0
    previous = settings.previous.of(settings.path)
    text = settings.text or ""  # it has our status line
    after = json_text.with_value(text, KEY, previous) if isinstance(previous, str) else json_text.without(text, KEY)
    if not settings.is_agreed(after, yes):
        return 1
    settings.write(after)
    settings.previous.forget(settings.path)
    terminal.say(f"Uninstalled from {settings.path}." + (" The previous status line is back." if previous else ""), environ)
    return 0


def _write_script(settings: Settings) -> None:
    """Write the script that the settings name. It finds the copy that Claude Code uses, also after an update."""
    script = (
        "# Written by `popkit statusline install`; the status line in settings.json runs it.\n"
        f"{copy_in_use(settings.environ)}"
        '[ -x "$popkit" ] && exec "$popkit" statusline\n'
        "exit 0\n"
    )
    files.make_private_folder(settings.home)
    files.replace_text(os.path.join(settings.home, SCRIPT), script)
