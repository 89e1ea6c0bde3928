"""`popkit setup opencode`: put PopKit's plugin into OpenCode's configuration, or take it out again.

That happens only on the user's word, the change shown first. The file keeps its order and its spacing; one with comments is left alone,
and the line to add is named instead.
"""

from __future__ import annotations

from typing import NamedTuple

from ..cli import host_settings, settings_file
from ..cli.answering import Refused
from .configuration import (
    OPENCODE,
    SCOPES,
    SERVER,
    SETTINGS,
    TERMINAL,
    folder,
    is_in_opencode,
    is_ours,
    path_of,
    plugin_named,
    spec,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# OpenCode moves these into a tui.json of its own, once, where there is none.
_MOVES = ("theme", "keybinds", "tui")


class Change(NamedTuple):
    """A change of one file: its text `before` and `after`, None where there is no file."""

    path: str
    before: str | None
    after: str | None


def set_up_opencode(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the changes, ask, make them. Return 0 if the configuration is then as requested. Refused for a file that is left alone, after
    the others are changed."""
    if not undo:
        SETTINGS.check_folder(folder(), f"popkit setup {OPENCODE}")
    changes, refused = _changes(undo, scope, environ)
    needed = [change for change in changes if change.after != change.before]
    for change in needed:
        settings_file.show_change(change.path, change.before, change.after or "", environ)
    if needed and not settings_file.is_confirmed(yes):
        return 1
    for change in needed:
        SETTINGS.make(*change, undo, environ)
    if undo:
        for change in changes:
            SETTINGS.kept(environ).forget(change.path)
    if changes:
        print(SETTINGS.summary(undo, [change.path for change in needed or changes], bool(needed)))
    if refused:
        raise Refused(". ".join(refused))
    return 0


def _changes(undo: bool, scope: str, environ: Mapping[str, str]) -> tuple[list[Change], list[str]]:
    """Return the changes that the files need, and why others are left alone."""
    changes, refused = [], []
    for kind in (SERVER, TERMINAL):
        try:
            changes.append(_change(kind, undo, scope, environ))
        except Refused as error:  # noqa: PERF203  of two files, one may be left alone
            refused.append(str(error))
    return changes, refused


def _change(kind: str, undo: bool, scope: str, environ: Mapping[str, str]) -> Change:
    """Return the change that a file needs; Refused for one that is left alone."""
    path = path_of(kind, scope, environ)
    text = settings_file.read(path)
    before = text or "{}\n"
    plugins = SETTINGS.entries(path, before, undo)
    others = [plugin for plugin in plugins if not is_ours(plugin)]
    wanted = others if undo else [*others, spec()]
    if [plugin_named(plugin) for plugin in plugins if is_ours(plugin)] == [plugin_named(plugin) for plugin in wanted if is_ours(plugin)]:
        return Change(path, text, text)
    if undo:
        return Change(path, text, SETTINGS.text_without_ours(path, before, others, environ))
    if kind == TERMINAL and text is None and _has_settings_to_move(scope, environ):
        raise Refused(f"{path} is not made yet, because OpenCode first moves your theme and keys into it. Start OpenCode, then try again")
    return Change(path, text, SETTINGS.with_entries(before, wanted))


def _has_settings_to_move(scope: str, environ: Mapping[str, str]) -> bool:
    """Return whether OpenCode has yet to move settings into a tui.json, which it does only where there is none."""
    text = settings_file.read(path_of(SERVER, scope, environ)) or "{}"
    return any(f'"{name}"' in text for name in _MOVES)


def remove(environ: Mapping[str, str]) -> list[str]:
    """Take our plugin out of every configuration that names it; return what could not be done."""
    return host_settings.taken_out(
        SCOPES, lambda scope: is_in_opencode(environ, scope), lambda scope: set_up_opencode(True, scope, True, environ)
    )
