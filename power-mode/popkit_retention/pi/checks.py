"""The checks of `popkit doctor` on pi."""

from __future__ import annotations

import os

from popkit_retention.core.io.findings import OK, WARNING, Check

from .configuration import PI, SCOPES, folder, named_extension, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def pi_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return the findings on pi; [] where no settings name our extension."""
    scope = next((scope for scope in SCOPES if named_extension(environ, scope)), "")
    if not scope:
        return []
    path, place = path_of(scope, environ), named_extension(environ, scope)
    again = f"popkit setup {PI}" + (" --scope project" if scope == "project" else "")
    facts: dict[str, Any] = {"configuration": [path]}
    if not os.path.exists(place):
        return [Check("pi", WARNING, f"{path} names an extension that no longer exists: {place}", f"Run {again}.", **facts)]
    if os.path.realpath(place.removesuffix("/index.ts")) != os.path.realpath(folder()):
        return [Check("pi", WARNING, f"{path} names the extension of another PopKit: {place}", f"To use this one, run {again}.", **facts)]
    return [Check("pi", OK, f"the extension is in {path}", **facts)]
