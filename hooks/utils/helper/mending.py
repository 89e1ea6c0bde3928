"""Make shortened results whole again of which a compaction of the host's own has left only the reference.

A host that keeps the newest messages beside its summary may keep a result that names one which is gone.
"""

from __future__ import annotations

import json  # noqa: TID253  only the helper comes here

from .. import archive
from ..hosts.transcripts.blocks import text_of_blocks
from ..io import home
from ..io.codec import as_text
from ..state import journal, noting
from ..state.archived import content_of, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from ..state.site import Site


def made_whole(site: Site, agent_id: str, ids: Collection[str], now: float) -> dict[str, str]:
    """Return {id: its whole text} of those of these results that name one which is not among them; the journal says that they are whole.
    {} where the archive cannot be read."""
    paths = site.paths(agent_id)
    entered = journal.SortedEntries(journal.read(paths), set()).entered
    dangling = [id for id in ids if id in entered and any(each.removeprefix("call ") not in ids for each in entered[id].leans_on)]
    if not dangling:
        return {}
    try:
        db = archive.open_archive(home.archive_path(site.home))
    except errors():
        return {}
    try:
        texts = {id: _text(content_of(db, entered[id].handle)) for id in dangling}
    finally:
        db.close()
    whole = {id: text for id, text in texts.items() if text}
    if whole:
        noting.note(site, paths, [journal.made_whole(entered[id], len(text), now) for id, text in whole.items()])
    return whole


def _text(content: str | None) -> str:
    """Return the text of an archived content; "" of one that shows more."""
    try:
        value = json.loads(content or "null")
    except ValueError:
        return ""
    if isinstance(value, list) and all(isinstance(block, dict) and block.get("type") == "text" for block in value):
        return text_of_blocks(value)[0]
    return as_text(value)
