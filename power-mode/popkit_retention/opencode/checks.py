"""The checks of `popkit doctor` on OpenCode."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from popkit_retention.core.io.findings import OK, WARNING, Check

from .configuration import OPENCODE, SCOPES, SERVER, TERMINAL, folder, is_in_opencode, named_plugin, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def opencode_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return the findings on OpenCode; [] where no configuration names our plugin."""
    scope = next((scope for scope in SCOPES if is_in_opencode(environ, scope)), "")
    if not scope:
        return []
    named = {kind: named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL)}
    paths = {kind: path_of(kind, scope, environ) for kind in named}
    again = f"popkit setup {OPENCODE}" + (" --scope project" if scope == "project" else "")
    facts: dict[str, Any] = {"configuration": list(paths.values())}
    for kind, name in named.items():
        place = unquote(urlsplit(name).path)
        if not name:
            lacks = "nothing of it works" if kind == SERVER else "the pane and the line in the sidebar are missing"
            return [Check("OpenCode", WARNING, f"{paths[kind]} does not name PopKit, so {lacks}", f"Run {again}.", **facts)]
        if not os.path.isdir(place):
            return [Check("OpenCode", WARNING, f"{paths[kind]} names a plugin that no longer exists: {place}", f"Run {again}.", **facts)]
        if os.path.realpath(place) != os.path.realpath(folder()):
            summary = f"{paths[kind]} names the plugin of another PopKit: {place}"
            return [Check("OpenCode", WARNING, summary, f"To use this one, run {again}.", **facts)]
    return [Check("OpenCode", OK, f"the plugin is in {' and '.join(paths.values())}", **facts)]
