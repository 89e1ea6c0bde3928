"""A project's bill, made from the client's breakdown, which is stored in our folder, with the digests of its sessions."""

from __future__ import annotations

import os

from popkit_retention.core.hosts import CLAUDE_CODE
from popkit_retention.core.io import files
from popkit_retention.core.policy.kind_rows import kind_rows
from popkit_retention.core.state import hidden_tools, limit_readings, prompt_breakdowns

from . import lifetimes, paid, removals
from .prompt_rows import calls_of, rows_of
from .removals import drafts, is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from popkit_retention.core.policy.models import Models
    from popkit_retention.core.views.shapes import Bill, Lifetime, Messages

    from .records import Digest


def is_main(digest: Digest) -> bool:
    """Return whether a digest is of a main thread."""
    return "/" not in digest["session"]


_FILE_BYTES = 1_000_000


def cache_lifetime(digests: Iterable[Digest], models: Models, is_priced: bool, period_s: float) -> dict[str, Lifetime | None]:
    """Return which lifetime of the prompt cache pays for the `main` threads and for `subagents` of Claude Code."""
    of_host = [digest for digest in digests if digest["host"] == CLAUDE_CODE]
    threads = {
        "main": [digest for digest in of_host if is_main(digest)],
        "subagents": [digest for digest in of_host if not is_main(digest)],
    }
    return {name: lifetimes.compared(thread_digests, models, is_priced, period_s) for name, thread_digests in threads.items()}


def bill_of(popkit_home: str, project: str, everything: list[Digest], since: float, now: float, models: Models) -> Bill:
    """Return the bill of a project. `everything`: the digests of all sessions; `since`: of those that its sums cover. Whoever has a
    plan does not pay by the token: of the cache's lifetime only the share is told."""
    breakdown, hidden = prompt_breakdowns.load_breakdown(popkit_home, project), hidden_tools.hidden(popkit_home, project)
    folders = {digest["cwd"] for digest in everything if os.path.isabs(digest["cwd"])}  # those of another system are not
    inside = {cwd for cwd in folders if is_inside(os.path.realpath(cwd), project)}
    own = [digest for digest in everything if digest["cwd"] in inside]
    lately = [digest for digest in own if digest["ended"] >= since]
    mains = [digest for digest in lately if is_main(digest)]
    newest = max((digest for digest in own if is_main(digest) and digest["used"]), key=lambda digest: digest["ended"], default=None)
    used = calls_of(everything)
    rows = rows_of(breakdown, newest["hooks"] if newest else 0, hidden, used, text_of) if breakdown.get("categories") else []
    return {
        "project": project, "since": since, "rows": rows, "tokens": sum(row["tokens"] for row in rows),
        "estimated": {
            "at": breakdown.get("at"), "session": breakdown.get("session"), "model": breakdown.get("model"),
            "missing": breakdown.get("missing"), "problem": breakdown.get("problem"),
        },
        "first_prompt": newest["standing"] if newest else None,
        "pace": paid.pace(mains, models, max(86_400.0, now - since)), "whole": paid.whole(lately, models),
        "cache_lifetime": cache_lifetime(lately, models, not limit_readings.readings(popkit_home), now - since),
        "proposals": removals.proposals(rows, len(mains)), "drafts": drafts(rows, project),
        "hidden": hidden, "prices_of": models.dated, "messages": _messages(breakdown, newest),
    }  # fmt: skip


def _messages(breakdown: dict[str, object], newest: Digest | None) -> Messages:
    if newest is None:
        return {"is_counted": False, "rows": []}
    counted = prompt_breakdowns.counted_messages(breakdown, newest["session"], newest["ended"])
    return {"is_counted": bool(counted), "rows": kind_rows(counted or newest["holds"])}


def text_of(path: str) -> str | None:
    """Return the text of a file; None where it cannot be read."""
    try:
        return files.read_text(path, _FILE_BYTES)
    except OSError:
        return None
