"""The later retrieval of an answer by a wrapped client: of a background response, of a batch, of a batch's results."""

from __future__ import annotations

import re
from typing import Any

from ..context.requests import AnswerUsage, Caller
from ..context.service import ContextService
from .call import Arguments, Setting, raw_of, without_field
from .known_callers import KnownCallers
from .reported_usage import batch_used, message_used, response_used

_RESPONSE, _BATCH = re.compile(r"/responses/([^/]+)"), re.compile(r"/batches/([^/]+)")
_RESULTS = re.compile(r".*/v1/messages/batches/([^/]+)/results")


class Retrieval:
    """A call that retrieves. `arguments`: those that it is sent with. `raw`: as in Call."""

    def __init__(self, id: str, read: Any, arguments: Arguments, caller: Caller, service: ContextService, callers: KnownCallers) -> None:
        self.arguments = arguments
        self.raw = raw_of(arguments)
        self._read = read
        self._service = service
        self._caller = callers.within(caller, id)
        self._model = ""

    @classmethod
    def of(cls, path: str, arguments: Arguments, setting: Setting, service: ContextService, callers: KnownCallers) -> Retrieval | Arguments:
        """Return the retrieval that a client makes by its `get`; its arguments without our own field where nothing is recorded of it."""
        arguments, fields = without_field(arguments)
        setting = setting.changed(fields)
        plain = path.partition("?")[0]
        for pattern, read in ((_RESPONSE, response_used), (_BATCH, batch_used), (_RESULTS, message_used)):
            named = pattern.fullmatch(plain)
            if named and setting.user_id:
                return cls(named[1], read, arguments, Caller(*setting[:4]), service, callers)
        return arguments

    def mark(self, answer: Any) -> Any:
        """Return the answer: there is nothing to report in it."""
        return answer

    def read(self, item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
        """Return the tokens used by an answer, or by an event of its stream and those before it; record those of a line of results."""
        if self._read is message_used:
            self._model, used = message_used(item)
            self.answered(used)
            return None
        model, used = self._read(item)
        self._model = model or self._model
        return used or before

    def answered(self, used: AnswerUsage | None) -> None:
        """Record the tokens of an answer."""
        self._service.answered(self._caller, self._model, used)
