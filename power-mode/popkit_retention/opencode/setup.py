"""`popkit setup opencode`: put PopKit's plugin into OpenCode's configuration, or take it out again.

That happens only on the user's word, the change shown first. The file keeps its order and its spacing; one with comments is left alone,
and the line to add is named instead.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ..cli import json_text, settings_file
from ..cli.answering import Refused
from .configuration import KEY, OPENCODE, SCOPES, SERVER, TERMINAL, folder, is_in_opencode, is_ours, path_of, plugin_named, plugins_of, spec
from .previous import Before, keep, kept, previous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_SCHEMA = "$schema"  # OpenCode itself puts it into a file that lacks it
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
    if not undo and not os.path.isdir(folder()):
        raise Refused(
            f"{folder()} is missing: this PopKit was installed without its plugins. Run popkit setup {OPENCODE} in a clone of PopKit"
        )
    changes, refused = _changes(undo, scope, environ)
    needed = [change for change in changes if change.after != change.before]
    for change in needed:
        settings_file.show_change(change.path, change.before, change.after or "", environ)
    if needed and not settings_file.is_confirmed(yes):
        return 1
    for change in needed:
        _make(change, undo, environ)
    if undo:
        for change in changes:
            kept(environ).forget(change.path)
    if changes:
        print(_summary(undo, [change.path for change in needed or changes], bool(needed)))
    if refused:
        raise Refused(". ".join(refused))
    return 0


def _make(change: Change, undo: bool, environ: Mapping[str, str]) -> None:
    """Make a change. Our first change of a file keeps its earlier state."""
    path, before, after = change
    if not undo:
        was = _state_before(path, before, environ)
        if was is not None:
            keep(path, was, after or "", environ)
    if after is None:
        settings_file.remove(path, before)
    else:
        settings_file.write(path, before, after)


def _state_before(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return the state of a file before any change of ours; None where it is unknown."""
    known = previous(path, text, environ)
    if known is not None and known.is_as_left:
        return known
    if any(map(is_ours, plugins_of(path, text or "{}", undo=False))):
        return None
    return Before(text or ("" if os.path.exists(path) else None), is_as_left=True)


def _summary(undo: bool, paths: list[str], is_made: bool) -> str:
    where = " and ".join(paths)
    if undo:
        return f"PopKit is no longer in {where}." if is_made else f"PopKit is not in {where}, so nothing was changed."
    return f"PopKit is in {where}. Start OpenCode again to load it." if is_made else f"PopKit is already in {where}."


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
    plugins = plugins_of(path, before, undo)
    others = [plugin for plugin in plugins if not is_ours(plugin)]
    wanted = others if undo else [*others, spec()]
    if [plugin_named(plugin) for plugin in plugins if is_ours(plugin)] == [plugin_named(plugin) for plugin in wanted if is_ours(plugin)]:
        return Change(path, text, text)
    if undo:
        return Change(path, text, _text_without_ours(path, before, others, environ))
    if kind == TERMINAL and text is None and _has_settings_to_move(scope, environ):
        raise Refused(f"{path} is not made yet, because OpenCode first moves your theme and keys into it. Start OpenCode, then try again")
    return Change(path, text, _with_plugins(before, wanted))


def _text_without_ours(path: str, text: str, others: list[Any], environ: Mapping[str, str]) -> str | None:
    """Return the text of a file without our plugin: its earlier text, or if somebody has changed it since, the rest of its text. None where
    the file is to go, because we created it and nobody has added anything."""
    was = previous(path, text, environ)
    if was is not None and was.is_as_left:
        return was.text
    rest = _with_plugins(text, others)
    is_bare = {member.name for member in json_text.members_of(rest)} <= {_SCHEMA}
    return None if was is not None and was.text is None and is_bare else rest


def _with_plugins(text: str, plugins: list[Any]) -> str:
    """Return the text of a configuration with these plugins; without any, the member goes."""
    return json_text.with_value(text, KEY, json_text.formatted(text, plugins)) if plugins else json_text.without(text, KEY)


def _has_settings_to_move(scope: str, environ: Mapping[str, str]) -> bool:
    """Return whether OpenCode has yet to move settings into a tui.json, which it does only where there is none."""
    text = settings_file.read(path_of(SERVER, scope, environ)) or "{}"
    return any(f'"{name}"' in text for name in _MOVES)


def remove(environ: Mapping[str, str]) -> list[str]:
    """Take our plugin out of every configuration that names it; return what could not be done."""
    failed = []
    for scope in SCOPES:
        if is_in_opencode(environ, scope):
            try:
                set_up_opencode(True, scope, True, environ)
            except (Refused, OSError) as error:
                failed.append(str(error))
    return failed
