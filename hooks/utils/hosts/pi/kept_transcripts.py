"""The transcripts that the helper keeps of pi's sessions, in our folder."""

from __future__ import annotations

from ...io import home
from ...io.codec import as_object, text_in_field
from ...io.storage import Storage
from ..kept_transcripts import KeptTranscript, path_of
from ..recorded_values import MESSAGE
from .translation import NAME, SESSION, Translator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["STORAGE", "PiTranscript", "kept", "path_of"]

STORAGE = (Storage("transcripts of pi", {home.TRANSCRIPTS: rf"[^/]+/{SESSION}[^/]+\.jsonl"}),)


def kept(path: str, session_id: str, cwd: str, agent_id: str) -> PiTranscript:
    """Return the transcript of a session, at a path: pi has no other contexts."""
    return PiTranscript(path, session_id, cwd)


class PiTranscript(KeptTranscript):
    """The transcript of a session of pi's, whose messages are the entries of its tree. `written`: entry -> uuid of the last line that it
    became, on whatever branch."""

    def __init__(self, path: str, session_id: str, cwd: str) -> None:
        self.written: dict[str, str] = {}
        super().__init__(path, Translator(session_id, cwd), NAME)

    def id_of(self, message: Any) -> str:
        return text_in_field(as_object(message), "id")

    def is_whole(self, message: Any) -> bool:
        return isinstance(message, dict)  # pi hands over what it has stored

    def take(self, messages: list[Any], is_all: bool = False) -> int:
        for message in messages:
            if self.id_of(message) in self.last_entries:
                list(self.translator.entries(message))  # what follows may ask for it
        return super().take(messages, is_all)

    def translate(self, id: str, message: Any) -> list[dict[str, object]]:
        """Return the entries of a message; none of one that is in the file, on a branch that goes on again."""
        translated = super().translate(id, message)
        if id in self.written:
            return []
        if translated:
            self.written[id] = translated[-1]["uuid"]
        return translated

    def look_at(self, stored: list[dict[str, Any]]) -> None:
        super().look_at(stored)
        self.written = {entry[MESSAGE]: entry["uuid"] for entry in stored if isinstance(entry.get(MESSAGE), str)}
