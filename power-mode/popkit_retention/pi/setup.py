"""`popkit setup pi`: put PopKit's extension into pi's settings, or take it out again.

That happens only on the user's word, the change shown first. The file keeps its order and its spacing.
"""

from __future__ import annotations

from ..cli import host_settings, settings_file
from .configuration import PI, SCOPES, SETTINGS, folder, is_ours, named_extension, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def set_up_pi(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it. Return 0 if the settings are then as requested. Refused for a file that is left alone."""
    if not undo:
        SETTINGS.check_folder(folder(), f"popkit setup {PI}")
    path = path_of(scope, environ)
    text = settings_file.read(path)
    after = _text_after(path, text, undo, environ)
    if after != text:
        settings_file.show_change(path, text, after or "", environ)
        if not settings_file.is_confirmed(yes):
            return 1
        SETTINGS.make(path, text, after, undo, environ)
    if undo:
        SETTINGS.kept(environ).forget(path)
    print(SETTINGS.summary(undo, [path], after != text))
    return 0


def _text_after(path: str, text: str | None, undo: bool, environ: Mapping[str, str]) -> str | None:
    """Return the text that the settings are to have; None where the file is to go."""
    before = text or "{}\n"
    extensions = SETTINGS.entries(path, before, undo)
    ours, others = [each for each in extensions if is_ours(each)], [each for each in extensions if not is_ours(each)]
    if ours == ([] if undo else [folder()]):
        return text
    return SETTINGS.text_without_ours(path, before, others, environ) if undo else SETTINGS.with_entries(before, [*others, folder()])


def remove(environ: Mapping[str, str]) -> list[str]:
    """Take our extension out of all settings that name it; return what could not be done."""
    return host_settings.taken_out(
        SCOPES, lambda scope: named_extension(environ, scope), lambda scope: set_up_pi(True, scope, True, environ)
    )
