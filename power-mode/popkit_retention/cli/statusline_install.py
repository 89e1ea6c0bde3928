"""Puts the status line into the client's settings.json and takes it out again: only on the user's word, the change shown first.

The file keeps its order, its spacing and its mode; another status line is put aside and comes back on `uninstall`.
"""

from __future__ import annotations

import difflib
import os
import shlex
import stat
import sys

from hooks.utils.io import files, home
from hooks.utils.io.codec import dumps, loads
from hooks.utils.io.storage import LOGS, Storage
from hooks.utils.text import clean

from . import screen, settings_text
from .past_sessions import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "statusLine"
SCRIPT = "statusline.sh"
PREVIOUS = "statusline.previous.json"
STORAGE = (Storage(LOGS, {"": r"statusline\.(sh|previous\.json)"}),)
_FOLDER = "${POPKIT_HOME:-${CLAUDE_CONFIG_DIR:-$HOME/.claude}/popkit}"
# The same for everyone, so that a project's settings can be shared: the script behind it is each user's own. A shell expands no `~` in a
# variable.
COMMAND = f'popkit="{_FOLDER}"; case "$popkit" in "~"|"~/"*) popkit=$HOME${{popkit#?}};; esac; sh "$popkit/{SCRIPT}"'
# Between events the time that the cache has left goes down.
VALUE = {"type": "command", "command": COMMAND, "refreshInterval": 30}


def install(scope: str, yes: bool, replace: bool, environ: Mapping[str, str]) -> int:
    """Shows the change, asks, makes it. 0 when the status line is installed afterwards."""
    return _install(Settings(scope, environ), yes, replace)


def uninstall(scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Brings back what was there before. 0 when our status line is not in the settings afterwards."""
    return _uninstall(Settings(scope, environ), yes)


class Settings:
    """One settings.json, read once, and our folder."""

    def __init__(self, scope: str, environ: Mapping[str, str]):
        self.environ = environ
        self.home = home.popkit_home(environ)
        project = environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        folder = home.claude_folder(environ) if scope == "user" else os.path.join(os.path.abspath(project), ".claude")
        self.path = os.path.realpath(os.path.join(folder, "settings.json"))
        self.text = read_settings(self.path)
        try:
            self.current = settings_text.value_text(self.text or "{}", KEY)
        except (ValueError, RecursionError) as error:
            raise Refused(f"{self.path} is left alone, because it is not valid: {error}") from None

    def ours(self) -> dict | None:
        """The status line in the settings, when it is this one, of any version."""
        value = loads(self.current) if self.current else None
        return value if isinstance(value, dict) and _is_ours(value.get("command")) else None

    def agreed(self, text: str, yes: bool) -> bool:
        """Shows the change and asks for it."""
        now = (self.text or "").splitlines()
        diff = difflib.unified_diff(now, text.splitlines(), self.path, self.path, "now", "then", lineterm="")
        screen.show([clean(line.replace("\t", "    ")) for line in diff], sys.stdout, self.environ)
        if yes or screen.said_yes("Make this change?"):
            return True
        print("Nothing was changed. --yes answers beforehand.")
        return False

    def write(self, text: str) -> None:
        """Makes the change that was shown, if the file is still what it was."""
        if read_settings(self.path) != self.text:
            raise Refused(f"{self.path} has changed in the meantime, so nothing was written. Try again")
        replace_settings(self.path, text)


def _is_ours(command: object) -> bool:
    return isinstance(command, str) and _FOLDER in command and command.endswith(f'/{SCRIPT}"')


def read_settings(path: str) -> str | None:
    """The text of a file, byte for byte; None when there is none or nothing in it."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8") or None
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Refused(f"{path} is left alone, because it is not UTF-8") from None


def replace_settings(path: str, text: str) -> None:
    """Replaces the file atomically; it keeps its mode. A new one is private."""
    files.make_private_folder(os.path.dirname(path))
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
    files.replace_text(path, text, mode)


def _install(settings: Settings, yes: bool, replace: bool) -> int:
    ours = settings.ours()
    if settings.current and ours is None and not replace:
        raise Refused(
            f"{settings.path} has another status line: {settings.current}. --replace sets it aside, and `popkit statusline uninstall`"
            " brings it back"
        )
    before = settings.text or "{}\n"
    after = settings_text.with_value(before, KEY, settings_text.formatted(before, {**(ours or {}), **VALUE}))
    if ours == {**(ours or {}), **VALUE}:
        _write_script(settings.home)
        print(f"The status line is already installed in {settings.path}.")
        return 0
    if not settings.agreed(after, yes):
        return 1
    _write_script(settings.home)
    if ours is None:
        _put_aside(settings, settings.current)
    settings.write(after)
    print(f"Installed in {settings.path}. It shows with the next answer in every running session.")
    return 0


def _uninstall(settings: Settings, yes: bool) -> int:
    if settings.ours() is None:
        print(f"The status line is not in {settings.path}, so nothing was changed.")
        return 0
    aside = _aside(settings.home).get(settings.path)
    text = settings.text or ""  # ours is in it
    after = settings_text.with_value(text, KEY, aside) if isinstance(aside, str) else settings_text.without(text, KEY)
    if not settings.agreed(after, yes):
        return 1
    settings.write(after)
    _put_aside(settings, None)
    print(f"Uninstalled from {settings.path}." + (" The previous status line is back." if aside else ""))
    return 0


def _aside(popkit_home: str) -> dict:
    """Path of a settings.json -> the text of the status line that stood there."""
    try:
        value = loads(files.read_text(os.path.join(popkit_home, PREVIOUS)) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _put_aside(settings: Settings, text: str | None) -> None:
    known = _aside(settings.home)
    changed = {path: kept for path, kept in known.items() if path != settings.path}
    if text is not None:
        changed[settings.path] = text
    if changed != known:
        files.make_private_folder(settings.home)
        files.replace_text(os.path.join(settings.home, PREVIOUS), dumps(changed))


def _write_script(popkit_home: str) -> None:
    """The script that the settings name: it finds PopKit where it was, or where an update has put it."""
    here = shlex.quote(os.path.join(home.plugin_root(), "bin", "popkit"))
    script = (
        "# Written by `popkit statusline install`; the status line in settings.json runs it.\n"
        'for popkit in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}"/plugins/cache/*/popkit/*/bin/popkit; do :; done\n'
        f"[ -x {here} ] && popkit={here}\n"
        '[ -x "$popkit" ] && exec "$popkit" statusline\n'
        "exit 0\n"
    )
    files.make_private_folder(popkit_home)
    files.replace_text(os.path.join(popkit_home, SCRIPT), script)
