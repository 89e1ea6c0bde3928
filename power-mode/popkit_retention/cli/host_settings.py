"""The list in another host's settings that names what of PopKit it loads: our entry in it is set or undone."""

from __future__ import annotations

import os
from typing import NamedTuple

from popkit_retention.core.io import home
from popkit_retention.core.io.codec import loads
from popkit_retention.core.io.system import sha256

from . import json_text, settings_file
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


class Original(NamedTuple):
    """A file before our first change: its `text`, None where there was no file. `is_as_left`: nobody has changed the file since we did."""

    text: str | None
    is_as_left: bool


class HostSettings:
    """`host`: as people call it · `key`: of the list · `kept`: the name under which earlier texts are kept · `folder`: of ours, in the
    plugin's · `ours()`: the entry to add · `is_ours`: of an entry · `of_host`: members that the host adds by itself."""

    def __init__(
        self, host: str, key: str, kept: str, folder: str, ours: Callable[[], str], is_ours: Callable[[object], bool],
        of_host: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.host = host
        self.key = key
        self.name = kept
        self.folder = folder
        self.ours = ours
        self.is_ours = is_ours
        self.of_host = frozenset(of_host)

    def kept(self, environ: Mapping[str, str]) -> settings_file.ReplacedValues:
        """Return what the files were before our first change."""
        return settings_file.ReplacedValues(self.name, environ)

    def check_folder(self, folder: str, command: str) -> None:
        """Refused where what the host is to load is not there."""
        if not os.path.isdir(folder):
            raise Refused(f"{folder} is missing: this PopKit was installed without its plugins. Run {command} in a clone of PopKit")

    def entries(self, path: str, text: str, undo: bool = False) -> list[Any]:
        """Return the list in a file with this text. Refused where it is not understood."""
        try:
            value = json_text.value_text(text, self.key)
            entries = loads(value) if value else []
        except (ValueError, RecursionError) as error:
            remedy = f"Remove {self.folder[1:]} from its {self.key} list" if undo else f'Add this to it: "{self.key}": ["{self.ours()}"]'
            why = "it has comments, or is broken" if "//" in text or "/*" in text else f"it is not valid JSON: {error}"
            raise Refused(f"{path} is left alone, because {why}. {remedy}") from None
        if not isinstance(entries, list):
            raise Refused(f'{path} is left alone, because its "{self.key}" is not a list')
        return entries

    def ours_in(self, path_of: Callable[[], str]) -> object:
        """Return our entry of the list in a file; "" where there is none, or it cannot be read."""
        try:
            path = path_of()
            return next(filter(self.is_ours, self.entries(path, settings_file.read(path) or "{}")), "")
        except (OSError, Refused, home.NoHome):
            return ""

    def with_entries(self, text: str, entries: list[Any]) -> str:
        """Return the text of a file with these entries; without any, the member goes."""
        return json_text.with_value(text, self.key, json_text.formatted(text, entries)) if entries else json_text.without(text, self.key)

    def text_without_ours(self, path: str, text: str, others: list[Any], environ: Mapping[str, str]) -> str | None:
        """Return the text of a file without our entry: its earlier text, or if somebody has changed it since, the rest of its text. None
        where the file is to go, because we created it and nobody has added anything."""
        was = self._kept_state(path, text, environ)
        if was is not None and was.is_as_left:
            return was.text
        rest = self.with_entries(text, others)
        is_bare = {member.name for member in json_text.members_of(rest)} <= self.of_host
        return None if was is not None and was.text is None and is_bare else rest

    def make(self, path: str, before: str | None, after: str | None, undo: bool, environ: Mapping[str, str]) -> None:
        """Make a change. Our first change of a file keeps its earlier state."""
        was = None if undo else self._state_before(path, before, environ)
        if was is not None:
            self.kept(environ).keep(path, {"before": was.text, "after": _hash(after)})
        if after is None:
            settings_file.remove(path, before)
        else:
            settings_file.write(path, before, after)

    def _state_before(self, path: str, text: str | None, environ: Mapping[str, str]) -> Original | None:
        """Return the state of a file before any change of ours; None where it is unknown."""
        known = self._kept_state(path, text, environ)
        if known is not None and known.is_as_left:
            return known
        if any(map(self.is_ours, self.entries(path, text or "{}"))):
            return None
        return Original(text or ("" if os.path.exists(path) else None), is_as_left=True)

    def _kept_state(self, path: str, text: str | None, environ: Mapping[str, str]) -> Original | None:
        """Return the state that was kept of a file that now has this text; None where it is unknown."""
        record: Any = self.kept(environ).of(path)
        try:
            before, after = record["before"], record["after"]
            (before or "").encode()  # half a surrogate has no place in a file
        except (KeyError, TypeError, AttributeError, UnicodeEncodeError):  # not a record of ours
            return None
        return Original(before, after == _hash(text))

    def summary(self, undo: bool, paths: Iterable[str], is_made: bool) -> str:
        """Return what has become of the files, in a sentence."""
        where = " and ".join(paths)
        if undo:
            return f"PopKit is no longer in {where}." if is_made else f"PopKit is not in {where}, so nothing was changed."
        return f"PopKit is in {where}. Start {self.host} again to load it." if is_made else f"PopKit is already in {where}."


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()


def taken_out(scopes: Iterable[str], is_named: Callable[[str], object], undo: Callable[[str], object]) -> list[str]:
    """Undo the setup in each of these scopes that names us; return what could not be done."""
    failed = []
    for scope in scopes:
        if is_named(scope):
            try:
                undo(scope)
            except (Refused, OSError) as error:
                failed.append(str(error))
    return failed
