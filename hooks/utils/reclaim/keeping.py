"""Archive the content that leaves a conversation, under its handles, before the host goes on without it."""

from __future__ import annotations

import json  # noqa: TID253  only the helper comes here
from contextlib import closing

from .. import archive
from ..archive.beside import leave_beside
from ..io import files, home
from ..io.system import sha256
from ..policy import compacting
from ..policy.remaining import NOT_TEXT, Removal
from ..state import watched_files
from ..state.receipts import REMINDERS, SHOWN
from . import cooling
from .access import chain_of
from .contents import stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..hosts.transcripts.as_sent import SentConversation
    from ..policy.compacting import Content
    from ..policy.context import ContextState
    from ..state.site import Site

_NOT_HERE = "[{} was here. A compaction cannot carry it; it is archived: popkit restore {}]"
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: a conversation has thousands of contents


class Keeper:
    """Names what leaves, and archives it. `contents`: id of a result -> its content as JSON text, where that is more than one text.
    `shown`: what leaves with any compaction: pictures and documents of the person's, and reminders that the host has renewed."""

    def __init__(self, site: Site, agent_id: str, transcript_path: str) -> None:
        self.contents: dict[str, str] = {}
        self.shown: list[Removal] = []
        self.texts: dict[str, str] = {}  # by handle
        self.path = home.archive_path(site.home)
        self.chain = chain_of(site, transcript_path, agent_id)

    def name(self, id: str, content: Content) -> str:
        """Return the handle under which it is archived."""
        text = self._text(id, content)
        handle = archive.handle_of(self.chain, id, text)
        self.texts[handle] = text
        return handle

    def show(self, block: dict[str, Any]) -> str:
        """Return the text that takes the place of a picture or a document that the person showed."""
        content = _as_json([block])
        what = "An image" if block["type"] == "image" else "A document"
        id = f"{block['type']}-{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        self.contents[id] = content
        handle = self.name(id, "")
        if all(one.handle != handle for one in self.shown):
            self.shown.append(Removal(SHOWN, id, f"{what} that you showed", NOT_TEXT, handle, ""))
        return _NOT_HERE.format(what, handle)

    def take(self, sent: SentConversation) -> None:
        """Take the contents that are more than text, and the host's later restatements."""
        self.contents.update(sent.contents)
        if sent.renewed:
            content = _as_json("\n".join(sent.renewed))
            id = f"reminders-{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
            self.contents[id] = content
            self.shown.append(Removal(REMINDERS, id, "Reminders of Claude Code", "a newer one follows", self.name(id, ""), ""))

    def take_in(self) -> None:
        """Have the archive take in what lies beside it, and grow cold where git keeps the same."""
        with closing(archive.open_archive(self.path)) as db:
            cooling.cool(db, self.chain.task_id)

    def _text(self, id: str, content: Content) -> str:
        known = self.contents.get(id) if isinstance(content, str) else None
        return known if known is not None else _as_json(content)

    def keep(self, left: Sequence[Removal], state: ContextState) -> None:
        """Lay everything beside the archive, which takes it in when it is next opened; an error of the archive where it cannot."""
        if watched_files.file_stamp(self.path):
            files.make_private_file(self.path, create=False)  # an error for anything else than a file
        else:
            archive.open_archive(self.path).close()
        known = {**state.expired, **state.live}
        records = []
        for one in left:
            result = known.get(one.id) if one.kind == compacting.RESULT else None
            kind = result.kind if result else one.kind
            stamp = stamp_of(result.at if result else state.at)
            tokens = round(result.tokens * state.calibration) if result else 0
            subjects = result.subjects if result else []
            records.append(archive.NewRecord(one.id, kind, one.label, self.texts[one.handle], stamp, subjects, tokens))
        leave_beside(self.path, self.chain, *records)
