"""One build for a client: what it may use, what it is told of the budget, and what is kept of it. It never fails a call.

    service = ContextService(build_context, sources, books)
    messages = service.build(Caller("dana", session_id="s1"), Request(Provider.ANTHROPIC, "claude-…", messages))

`build` gives None where the caller's own messages are to go: nobody is named, or building fails, which is said once.
"""

from __future__ import annotations

import logging
import threading
import traceback
from contextlib import contextmanager, nullcontext
from pathlib import PurePath
from typing import NamedTuple, Protocol

from . import tracing
from .conversations import Conversations, mark_of
from .models import ContextBuildOptions
from .said import digests_of
from .sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from opentelemetry.trace import Span

    from .models import ContextResult, Message, Provider

_log = logging.getLogger("popkit_retention.context")
_UNNAMED = "conversation-"


class Caller(NamedTuple):
    """Who calls. `user_id`: "" for nobody, whose requests stay as they are. `project`: the folder whose memory and files may enter, "" for
    none. `agent`: its name, for people."""

    user_id: str
    session_id: str = ""
    project: str = ""
    agent: str = ""

    def within(self, messages: Sequence[Message]) -> Caller:
        """The caller with a session: where none is named, the conversation is one of its own."""
        return self if self.session_id else self._replace(session_id=_UNNAMED + mark_of(messages))


class Request(NamedTuple):
    """What of a request a build is about, as plain data. `max_tokens`: what may go in at most; None: what the model takes."""

    provider: Provider
    model: str
    messages: list[Message]
    system: Any = None
    tools: Any = None
    max_tokens: int | None = None


class Used(NamedTuple):
    """The tokens that one answer used. `input`: those that went in without the cache. `cache_write_1h`: the part of `cache_write` that
    stays for an hour. `id`: by which the provider knows the answer, "" where it does not say."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    id: str = ""


class Books(Protocol):
    """What stands in a user's books, and goes into them. It writes behind the call."""

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """How much is used of the limit that is used up most; None where there is no limit."""
        ...

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None: ...

    def answered(self, caller: Caller, model: str, used: Used) -> None: ...

    def close(self) -> None:
        """Writes what is still to be written."""
        ...


class ContextService:
    """Builds for many users, sessions and threads at once."""

    def __init__(
        self,
        build: Callable[[ContextBuildOptions, Sources], ContextResult],
        sources: Callable[[str], AbstractContextManager[Sources]] = lambda project: nullcontext(Sources()),
        books: Books | None = None,
    ) -> None:
        """`sources`: of a project's folder, for one build. `books`: None where no limits hold and nothing is kept."""
        self._build = build
        self._sources = sources
        self._books = books
        self._conversations = Conversations()
        self._warned = False
        self._lock = threading.Lock()

    def build(self, caller: Caller, request: Request) -> list[Message] | None:
        """The messages to send, valid for the provider; None for the original ones."""
        if not caller.user_id or not request.messages:
            return None
        messages: list[Message] = []
        with self.careful("building a context failed, so the original messages were sent"):
            messages = self._built(caller, request).messages
        return messages or None

    def answered(self, caller: Caller, model: str, used: Used | None) -> None:
        """Takes down what an answer used; None where it did not tell."""
        if self._books is None or used is None or not caller.user_id:
            return
        with self.careful("what a call used could not be taken down"):
            self._books.answered(caller, model, used)

    def close(self) -> None:
        """Writes what is still to be written, and ends. Without it the end of the process does."""
        if self._books is not None:
            self._books.close()

    @contextmanager
    def careful(self, what: str) -> Iterator[None]:
        """What fails inside fails nothing outside. `what`: what then holds, in words."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  a call must not fail for what PopKit adds to it
            self._warn(what, error)

    def _built(self, caller: Caller, request: Request) -> ContextResult:
        digests = digests_of(request.messages)
        with self._conversations.turn(caller, digests or ()) as turn:
            with self._sources(caller.project) as sources, self._traced(caller, request) as span:
                result = self._build(self._options(caller, request, turn.state, digests), sources)
                tracing.built(span, result)
            turn.hand_on(result.state, result.appended)
        if self._books is not None:
            with self.careful("what was built could not be kept"):
                self._books.built(caller, request, result)
        return result

    @staticmethod
    def _traced(caller: Caller, request: Request) -> AbstractContextManager[Span]:
        return tracing.building(caller.agent, caller.session_id, request.model, len(request.messages))

    def _options(self, caller: Caller, request: Request, previous: dict[str, Any] | None, digests: list[str] | None) -> ContextBuildOptions:
        # Not validated: a copy of every message, which the builder checks anyway, would cost as much as the build.
        return ContextBuildOptions.model_construct(
            agent=caller.agent,
            messages=request.messages,
            session_id=caller.session_id,
            user_id=caller.user_id,
            budget_used_percent=self._used_percent(caller),
            provider=request.provider,
            model=request.model,
            system=request.system,
            tools=request.tools,
            project=caller.project,
            max_tokens=request.max_tokens,
            previous=previous,
            digests=digests,
        )

    def _used_percent(self, caller: Caller) -> float | None:
        used = None
        if self._books is not None:
            with self.careful("limits could not be asked for, so none holds"):
                used = self._books.used_percent(caller.user_id, caller.session_id)
        return used if used is None else float(used)

    def _warn(self, what: str, error: Exception) -> None:
        """Once at the level of a warning. An error's own words may hold contents of messages, so they are left out."""
        with self._lock:
            level, self._warned = logging.DEBUG if self._warned else logging.WARNING, True
        _log.log(level, "PopKit: %s (%s in %s). It is said once.", what, type(error).__name__, _place(error))


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
