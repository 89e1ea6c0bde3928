"""What memory showed a session, and what the assistant wrote after that. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.utils.state.memory_text import HEAD

from ..items import Shown

if TYPE_CHECKING:
    from . import Returned

REQUESTS = 10  # so soon after it was shown an item is followed, if at all
_CHARS = 20_000  # of one request's text
_TITLE = HEAD.partition("\n")[0]
_COMMAND = re.compile(r"\bpopkit(?:\.py)?['\"]?\s+memory\s+(?:search|list|why)\b")
_TOOL = "memory_search"


class Showings:
    """Everything that memory showed in one session."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # with the number of requests that there were before
        self._wrote: list[str] = []  # by request

    def give(self, text: str) -> None:
        """Take in what a hook gave the assistant."""
        if _TITLE in text:
            self._texts.append((len(self._wrote), text))

    def see(self, returned: Returned) -> None:
        """Take in a completed call."""
        command = returned.call.tool_input.get("command")
        if returned.call.tool.endswith(_TOOL) or (isinstance(command, str) and _COMMAND.search(command)):
            self._texts.append((len(self._wrote), returned.text))

    def write(self, request: int, text: str) -> None:
        """Take in a text that the assistant wrote in a request (numbered from 1)."""
        self._wrote += [""] * (request - len(self._wrote))
        self._wrote[request - 1] = "\n".join(filter(None, (self._wrote[request - 1], text)))[:_CHARS]

    def all(self) -> tuple[Shown, ...]:
        """Return what was shown, in order, each with what was written in the requests after it."""
        return tuple(Shown(text, "\n".join(self._wrote[at : at + REQUESTS])) for at, text in self._texts)
