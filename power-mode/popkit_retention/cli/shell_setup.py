"""`popkit setup shell`: make a shell find `popkit`, or take that back again. The command is a script of ours that finds the copy which
Claude Code uses, so that it goes on working after an upgrade; a link to it in a folder on the PATH is made only on the user's word."""

from __future__ import annotations

import os
import shlex

from popkit_retention.core.io import files, home
from popkit_retention.core.io.storage import LOGS, Storage

from . import terminal
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SHELL = "shell"
SCRIPT, NAME = "popkit.sh", "popkit"
STORAGE = (Storage(LOGS, {"": r"popkit\.sh"}),)
_USUAL = (".local/bin", "bin")  # in the home folder: a person's own programs


def set_up_shell(undo: bool, yes: bool, environ: Mapping[str, str]) -> int:
    """Create the command, or remove it. Return 0 if that is done."""
    if undo:
        gone = remove(environ)
        terminal.say(f"Removed: {', '.join(gone)}." if gone else "popkit setup shell has made nothing that is still there.", environ)
        return 0
    if is_package():
        raise Refused("this popkit came with pip, pipx or uv, which has put it among your programs. This is for the plugin's")
    script, folder = _script(environ), _link_folder(environ)
    link = os.path.join(folder, NAME)
    if os.path.lexists(link) and not _is_ours(link, script):
        raise Refused(f"{link} is there and not from popkit setup shell. Move it away, then try again")
    if not os.path.lexists(link):
        terminal.say(f"A link is to be made: {link} leads to {script}.", environ)
        if not yes and not terminal.is_confirmed("Make it?"):
            print("Nothing was changed. --yes skips the question.")
            return 1
    _write(script, environ)
    if not os.path.lexists(link):
        os.makedirs(folder, exist_ok=True)
        os.symlink(script, link)
    terminal.say(f"Your shell finds popkit, also after an upgrade: {link}.{_folder_to_keep(environ)}", environ)
    if folder not in _path_folders(environ):
        terminal.say(f"{folder} is not on your PATH yet. Add this line to your shell's profile, then open a new shell:", environ)
        print(f'  export PATH="{folder}:$PATH"')
    return 0


def remove(environ: Mapping[str, str]) -> list[str]:
    """Remove every link to our script, and the script; return what was removed."""
    script = _script(environ)
    gone = links(environ)
    if os.path.isfile(script):
        gone.append(script)
    for path in gone:
        os.unlink(path)
    return gone


def links(environ: Mapping[str, str]) -> list[str]:
    """Return every link to our script."""
    script = _script(environ)
    named = [os.path.join(folder, NAME) for folder in dict.fromkeys([*_path_folders(environ), *_own_folders(environ)])]
    return [path for path in named if _is_ours(path, script)]


def copy_in_use(environ: Mapping[str, str]) -> str:
    """Return shell lines that set `popkit` to the command of the copy that Claude Code uses: Claude Code marks the copies that an upgrade
    has replaced. The clone that this runs from comes first while it exists."""
    here = home.plugin_root()
    cache = os.path.join(home.claude_folder(environ), "plugins", "cache")
    lines = (
        "popkit=\n"
        f"for found in {shlex.quote(cache)}/*/popkit/*/bin/popkit; do\n"
        "  copy=${found%/bin/popkit}\n"
        '  [ -x "$found" ] && [ ! -e "$copy/.orphaned_at" ] || continue\n'
        '  { [ -z "$popkit" ] || [ "$copy" -nt "${popkit%/bin/popkit}" ]; } && popkit=$found\n'
        "done\n"
    )
    if not is_copy(here, environ):
        command = shlex.quote(os.path.join(here, "bin", "popkit"))
        lines += f"[ -x {command} ] && popkit={command}\n"
    return lines


def is_package() -> bool:
    """Return whether this is the library alone, as pip installs it, without the plugin around it."""
    return not os.path.exists(os.path.join(home.plugin_root(), "bin", "popkit"))


def is_copy(root: str, environ: Mapping[str, str]) -> bool:
    """Return whether a folder of PopKit is a copy that Claude Code made and replaces by itself."""
    plugins = os.path.realpath(os.path.join(home.claude_folder(environ), "plugins"))
    return os.path.realpath(root).startswith(plugins + os.sep)


def _script(environ: Mapping[str, str]) -> str:
    return os.path.join(home.popkit_home(environ), SCRIPT)


def _write(script: str, environ: Mapping[str, str]) -> None:
    files.make_private_folder(os.path.dirname(script))
    text = (
        "#!/bin/sh\n# Written by `popkit setup shell`, which --undo takes back.\n"
        + copy_in_use(environ)
        + '[ -n "$popkit" ] && exec "$popkit" "$@"\n'
        'echo "popkit: PopKit is not installed any more: claude plugin install popkit@popkit" >&2\nexit 127\n'
    )
    files.replace_text(script, text, 0o700)


def _folder_to_keep(environ: Mapping[str, str]) -> str:
    root = home.plugin_root()
    return "" if is_copy(root, environ) else f" It runs PopKit in {root}: keep this folder."


def _link_folder(environ: Mapping[str, str]) -> str:
    """Return the folder for the link: one of the person's own that is on the PATH, else the usual one."""
    own = _own_folders(environ)
    return next((folder for folder in own if folder in _path_folders(environ)), own[0])


def _own_folders(environ: Mapping[str, str]) -> list[str]:
    return [os.path.join(home.user_folder(environ), name) for name in _USUAL]


def _path_folders(environ: Mapping[str, str]) -> list[str]:
    return [folder.rstrip("/") for folder in (environ.get("PATH") or "").split(os.pathsep) if folder.startswith("/")]


def _is_ours(link: str, script: str) -> bool:
    return os.path.islink(link) and os.path.realpath(link) == os.path.realpath(script)
