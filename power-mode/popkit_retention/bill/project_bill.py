"""The bill of a project as data, from what is kept of it and from digests."""

from __future__ import annotations

import os

from hooks.utils.io import files
from hooks.utils.state import standing

from . import statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hooks.utils.policy.models import Models

    from .digests import Digest

_FILE_BYTES = 1_000_000


def bill_of(popkit_home: str, project: str, everything: list[Digest], since: float, now: float, models: Models) -> dict[str, Any]:
    """Return the bill of a project as data. `everything`: the digests of all sessions; `since`: of those that its sums cover."""
    breakdown, hidden = standing.load(popkit_home, project), standing.hidden(popkit_home, project)
    inside = {cwd for cwd in {digest["cwd"] for digest in everything} if cwd and statement.is_inside(os.path.realpath(cwd), project)}
    own = [digest for digest in everything if digest["cwd"] in inside]
    lately = [digest for digest in own if digest["ended"] >= since]
    mains = [digest for digest in lately if statement.is_main(digest)]
    newest = max((digest for digest in own if statement.is_main(digest) and digest["used"]), key=lambda one: one["ended"], default=None)
    used = statement.calls_of(everything)
    rows = statement.rows_of(breakdown, newest["hooks"] if newest else 0, hidden, used, text_of) if breakdown.get("categories") else []
    return {
        "project": project, "since": since, "rows": rows, "tokens": sum(row["tokens"] for row in rows),
        "estimated": {name: breakdown.get(name) for name in ("at", "session", "model", "missing", "problem")},
        "first_prompt": newest["standing"] if newest else None,
        "pace": statement.pace(mains, models, max(86_400.0, now - since)), "whole": statement.whole(lately, models),
        "proposals": statement.proposals(rows, len(mains)), "drafts": statement.drafts(rows, project),
        "hidden": hidden, "prices_of": models.dated,
    }  # fmt: skip


def text_of(path: str) -> str | None:
    """Return the text of a file; None where it cannot be read."""
    try:
        return files.read_text(path, _FILE_BYTES)
    except OSError:
        return None
