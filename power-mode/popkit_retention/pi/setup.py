"""`popkit setup pi`: put PopKit's extension into pi's settings, or take it out again.

That happens only on the user's word, the change shown first. The file keeps its order and its spacing.
"""

from __future__ import annotations

import os

from ..cli import earlier_texts, json_text, settings_file
from ..cli.answering import Refused
from ..cli.earlier_texts import Before
from .configuration import KEY, PI, SCOPES, extensions_of, folder, is_ours, kept, named_extension, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def set_up_pi(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it. Return 0 if the settings are then as requested. Refused for a file that is left alone."""
    if not undo and not os.path.isdir(folder()):
        raise Refused(f"{folder()} is missing: this PopKit was installed without its plugins. Run popkit setup {PI} in a clone of PopKit")
    path = path_of(scope, environ)
    text = settings_file.read(path)
    after = _text_after(path, text, undo, environ)
    if after != text:
        settings_file.show_change(path, text, after or "", environ)
        if not settings_file.is_confirmed(yes):
            return 1
        _make(path, text, after, undo, environ)
    if undo:
        kept(environ).forget(path)
    print(_summary(undo, path, after != text))
    return 0


def _text_after(path: str, text: str | None, undo: bool, environ: Mapping[str, str]) -> str | None:
    """Return the text that the settings are to have; None where the file is to go, because we created it and nobody has added anything."""
    before = text or "{}\n"
    extensions = extensions_of(path, before, undo)
    ours, others = [each for each in extensions if is_ours(each)], [each for each in extensions if not is_ours(each)]
    if ours == ([] if undo else [folder()]):
        return text
    if not undo:
        return _with_extensions(before, [*others, folder()])
    was = earlier_texts.before_of(kept(environ), path, text)
    if was is not None and was.is_as_left:
        return was.text
    rest = _with_extensions(before, others)
    return None if was is not None and was.text is None and not json_text.members_of(rest) else rest


def _with_extensions(text: str, extensions: list[Any]) -> str:
    """Return the text of settings with these extensions; without any, the member goes."""
    return json_text.with_value(text, KEY, json_text.formatted(text, extensions)) if extensions else json_text.without(text, KEY)


def _make(path: str, before: str | None, after: str | None, undo: bool, environ: Mapping[str, str]) -> None:
    """Make a change. Our first change of a file keeps its earlier state."""
    was = None if undo else _state_before(path, before, environ)
    if was is not None:
        earlier_texts.keep(kept(environ), path, was, after or "")
    if after is None:
        settings_file.remove(path, before)
    else:
        settings_file.write(path, before, after)


def _state_before(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return the state of the file before any change of ours; None where it is unknown."""
    known = earlier_texts.before_of(kept(environ), path, text)
    if known is not None and known.is_as_left:
        return known
    if any(map(is_ours, extensions_of(path, text or "{}", undo=False))):
        return None
    return Before(text or ("" if os.path.exists(path) else None), is_as_left=True)


def _summary(undo: bool, path: str, is_made: bool) -> str:
    if undo:
        return f"PopKit is no longer in {path}." if is_made else f"PopKit is not in {path}, so nothing was changed."
    return f"PopKit is in {path}. Start pi again to load it." if is_made else f"PopKit is already in {path}."


def remove(environ: Mapping[str, str]) -> list[str]:
    """Take our extension out of all settings that name it; return what could not be done."""
    failed = []
    for scope in SCOPES:
        if named_extension(environ, scope):
            try:
                set_up_pi(True, scope, True, environ)
            except (Refused, OSError) as error:
                failed.append(str(error))
    return failed
