"""Put the status line into the client's settings.json and take it out again: only on the user's word, the change shown first.

The file keeps its order, its spacing and its mode; another status line is put aside and comes back on `uninstall`.
"""

from __future__ import annotations

import os
import shlex

from hooks.utils.io import files, home
from hooks.utils.io.codec import dumps, loads
from hooks.utils.io.storage import LOGS, Storage

from . import settings_file
from .answering import Refused

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


class Settings:
    """One settings.json, read once, and our folder."""

    def __init__(self, scope: str, environ: Mapping[str, str]):
        self.environ = environ
        self.home = home.popkit_home(environ)
        project = environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        folder = home.claude_folder(environ) if scope == "user" else os.path.join(os.path.abspath(project), ".claude")
        self.path = os.path.realpath(os.path.join(folder, "settings.json"))
        self.text = settings_file.read(self.path)
        try:
            self.current = settings_file.value_text(self.text or "{}", KEY)
        except (ValueError, RecursionError) as error:
            raise Refused(f"{self.path} is left alone, because it is not valid: {error}") from None

    def ours(self) -> dict | None:
        """Return the status line in the settings, when it is this one, of any version; None otherwise."""
        value = loads(self.current) if self.current else None
        return value if isinstance(value, dict) and _is_ours(value.get("command")) else None

    def is_agreed(self, after: str, yes: bool) -> bool:
        """Show the change and ask for it."""
        settings_file.show_change(self.path, self.text, after, self.environ)
        return settings_file.is_confirmed(yes)

    def write(self, after: str) -> None:
        """Make the change that was shown, if the file is still what it was."""
        settings_file.write(self.path, self.text, after)


def _is_ours(command: object) -> bool:
    return isinstance(command, str) and _FOLDER in command and command.endswith(f'/{SCRIPT}"')


def install(scope: str, yes: bool, replace: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it. Return 0 when the status line is installed afterwards."""
    settings = Settings(scope, environ)
    ours = settings.ours()
    if settings.current and ours is None and not replace:
        raise Refused(
            f"{settings.path} has another status line: {settings.current}. --replace sets it aside, and `popkit statusline uninstall`"
            " brings it back"
        )
    before = settings.text or "{}\n"
    after = settings_file.with_value(before, KEY, settings_file.formatted(before, {**(ours or {}), **VALUE}))
    if ours == {**(ours or {}), **VALUE}:
        _write_script(settings.home)
        print(f"The status line is already installed in {settings.path}.")
        return 0
    if not settings.is_agreed(after, yes):
        return 1
    _write_script(settings.home)
    if ours is None:
        _put_aside(settings, settings.current)
    settings.write(after)
    print(f"Installed in {settings.path}. It shows with the next answer in every running session.")
    return 0


def uninstall(scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Bring back what was there before. Return 0 when our status line is not in the settings afterwards."""
    settings = Settings(scope, environ)
    if settings.ours() is None:
        print(f"The status line is not in {settings.path}, so nothing was changed.")
        return 0
    aside = _aside(settings.home).get(settings.path)
    text = settings.text or ""  # ours is in it
    after = settings_file.with_value(text, KEY, aside) if isinstance(aside, str) else settings_file.without(text, KEY)
    if not settings.is_agreed(after, yes):
        return 1
    settings.write(after)
    _put_aside(settings, None)
    print(f"Uninstalled from {settings.path}." + (" The previous status line is back." if aside else ""))
    return 0


def _aside(popkit_home: str) -> dict:
    """Return path of a settings.json -> the text of the status line that it had before."""
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
    """Write the script that the settings name: it finds PopKit where it was, or where an update has put it."""
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
