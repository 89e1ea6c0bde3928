"""The transcripts that the helper keeps of OpenCode's sessions, in our folder."""

from __future__ import annotations

from ...io import home
from ...io.codec import as_object, as_text
from ...io.storage import Storage
from ..kept_transcripts import KeptTranscript, path_of, root_of
from .translation import NAME, SESSION, Translator, is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["STORAGE", "OpenCodeTranscript", "kept", "path_of", "root_of"]

STORAGE = (Storage("transcripts of OpenCode", {home.TRANSCRIPTS: rf"[^/]+/{SESSION}[^/]+(/subagents/agent-[^/]+)?\.jsonl"}),)


def kept(path: str, session_id: str, cwd: str, agent_id: str) -> OpenCodeTranscript:
    """Return the transcript of one context, at a path."""
    return OpenCodeTranscript(path, session_id, cwd, agent_id)


class OpenCodeTranscript(KeptTranscript):
    """The transcript of one context of OpenCode's."""

    def __init__(self, path: str, session_id: str, cwd: str, agent_id: str = "") -> None:
        super().__init__(path, Translator(session_id, cwd, agent_id), NAME)

    def id_of(self, message: Any) -> str:
        id = as_object(as_object(message).get("info")).get("id")
        return as_text(id)

    def is_whole(self, message: Any) -> bool:
        return is_whole(message)
