"""The server of one connection, which answers lines by `send`; it knows no streams. Tools run one after another in a thread beside the one
that reads: while a tool runs, pings are answered and cancellations accepted."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io.codec import as_object

from . import json_rpc, revisions
from .json_rpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, ProtocolFault, shown
from .revisions import HANDSHAKES, STATELESS, negotiated, spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from .json_rpc import Id
    from .revisions import Dialect

    Answer = dict[str, object]
    Reply = Callable[[Answer | None], None]

    class Toolbox(Protocol):
        """The tools that the server offers."""

        instructions: str

        def listed(self, dialect: Dialect) -> list[Answer]: ...
        def knows(self, name: str) -> bool: ...
        def call(self, name: str, arguments: dict[str, object], dialect: Dialect, progress: Progress) -> Answer: ...


class Cancelled(PopkitError):
    """The client no longer wants the answer."""


class Call:
    """A call of a tool, waiting or running. `work` makes the answer; `done` is called with it, or with None for no answer."""

    __slots__ = ("_done", "_work", "cancelled", "id", "is_over")

    def __init__(self, id: Id | None, work: Callable[[Call], Answer], done: Callable[[Answer | None], None]) -> None:
        self.id = id
        self.cancelled = False
        self.is_over = False
        self._work = work
        self._done = done

    def check(self) -> None:
        """Raise Cancelled where the client no longer wants the answer."""
        if self.cancelled:
            raise Cancelled

    def run(self) -> None:
        """Do the work, and pass on its answer."""
        answer: Answer | None
        try:
            self.check()
            answer = self._work(self)
        except Cancelled:
            answer = None
        self.is_over = True  # the client may use the id again once it has the answer
        self._done(None if self.cancelled else answer)


class Calls:
    """The waiting calls and the running one. The thread starts with the first call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: deque[Call] = deque()  # the first one is running
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()

    def has(self, id: Id | None) -> bool:
        """Return whether a call of this id waits or runs. 1 and "1" are two ids."""
        with self._changed:
            return any(_same(call.id, id) and not call.is_over for call in self._calls)

    def cancel(self, id: object = None, everything: bool = False) -> None:
        """Cancel the call of this id, or all calls: their answers are no longer wanted."""
        with self._changed:
            for call in self._calls:
                if everything or _same(call.id, id):
                    call.cancelled = True

    def wait(self, seconds: float) -> bool:
        """Wait until all are done, at most `seconds`; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls)
                call = self._calls[0]
            call.run()
            with self._changed:
                self._calls.popleft()
                self._changed.notify_all()


def _same(id: object, given: object) -> bool:
    return isinstance(id, str) == isinstance(given, str) and not isinstance(given, bool) and id == given


class Progress:
    """Reports to the client how much of a running tool's work is done. Raises Cancelled where the client no longer wants the answer."""

    __slots__ = ("_at", "_call", "_send", "_token")

    def __init__(self, call: Call, token: object, send: Callable[[object], None]) -> None:
        self._call = call
        self._token = token if isinstance(token, (str, int, float)) and not isinstance(token, bool) else None
        self._send = send
        self._at = -1.0

    def __call__(self, done: float, total: float | None = None) -> None:
        self._call.check()
        if self._token is None or done <= self._at:  # it only rises
            return
        self._at = done
        params = {"progressToken": self._token, "progress": done, **({} if total is None else {"total": total})}
        self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


class Batch:
    """The answers to the messages of one line, which are sent together once all are there."""

    def __init__(self, send: Callable[[object], None], awaited: int) -> None:
        self._send = send
        self._awaited = awaited
        self._answers: list[Answer] = []
        self._lock = threading.Lock()

    def __call__(self, answer: Answer | None) -> None:
        with self._lock:
            self._awaited -= 1
            if answer is not None:
                self._answers.append(answer)
            complete = not self._awaited
        if complete and self._answers:
            self._send(self._answers)


class Server:
    """The server of one client. `send` takes a JSON value, from two threads."""

    def __init__(self, toolbox: Toolbox, send: Callable[[object], None], version: str) -> None:
        self._toolbox = toolbox
        self._send = send
        self._about = {"name": "popkit", "title": "PopKit", "version": version}
        self._dialect: Dialect | None = None  # of the handshake
        self._calls: Calls | None = None  # messages that need no tool start no thread

    def take(self, line: bytes | ProtocolFault) -> None:
        """Answer the messages of one line."""
        try:
            if isinstance(line, ProtocolFault):
                raise line
            value = json_rpc.read(line)
            if isinstance(value, list):
                self._batch(value)
            else:
                self._one(value, self._reply)
        except ProtocolFault as fault:
            self._send(fault.answer())

    def finish(self, seconds: float) -> bool:
        """Wait for running calls, at most `seconds`; return whether all are done. The rest are cancelled."""
        if self._calls is None or self._calls.wait(seconds):
            return True
        self._calls.cancel(everything=True)
        return self._calls.wait(seconds)

    def _reply(self, answer: Answer | None) -> None:
        if answer is not None:
            self._send(answer)

    def _batch(self, values: list[Any]) -> None:
        if self._dialect is None or not self._dialect.batches:
            raise ProtocolFault(INVALID_REQUEST, "send one message in a line: only protocol version 2025-03-26 has batches")
        if not values:
            raise ProtocolFault(INVALID_REQUEST, "the batch is empty")
        messages = [_read(value) for value in values]
        answered = [message for message in messages if isinstance(message, ProtocolFault) or (message is not None and message.is_request)]
        together = Batch(self._send, len(answered))
        for message in messages:
            if isinstance(message, ProtocolFault):
                together(message.answer())
            elif message is not None:
                self._message(message, together, in_batch=True)

    def _one(self, value: object, reply: Reply) -> None:
        message = json_rpc.message_of(value)
        if message is not None:
            self._message(message, reply)

    def _message(self, message: Message, reply: Reply, in_batch: bool = False) -> None:
        if not message.is_request:
            if message.method == "notifications/cancelled" and self._calls is not None:
                self._calls.cancel(message.params.get("requestId"))
            return
        try:
            if message.method == "initialize":
                reply(json_rpc.result(message.id, self._initialize(message, in_batch)))
            else:
                self._request(message, self._dialect_of(message), reply)
        except ProtocolFault as fault:
            reply(fault.answer())

    def _dialect_of(self, message: Message) -> Dialect:
        dialect = spoken(message.params, message.id) or self._dialect
        if dialect is not None:
            return dialect
        if message.method == "ping":
            return revisions.dialect(HANDSHAKES[0])
        raise ProtocolFault(INVALID_REQUEST, f"send initialize before {shown(message.method)}", message.id)

    def _initialize(self, message: Message, in_batch: bool) -> Answer:
        if self._dialect is not None or in_batch:
            raise ProtocolFault(INVALID_REQUEST, "initialize comes first, once and alone", message.id)
        dialect = negotiated(message.params, message.id)
        self._dialect = dialect
        about = self._about if dialect.structured else {key: self._about[key] for key in ("name", "version")}
        return {
            "protocolVersion": dialect.version, "capabilities": {"tools": {}}, "serverInfo": about,
            "instructions": self._toolbox.instructions,
        }  # fmt: skip

    def _request(self, message: Message, dialect: Dialect, reply: Reply) -> None:
        answer: Answer
        lasts = False
        if message.method == "tools/call":
            self._call(message, dialect, reply)
            return
        if message.method == "ping":
            answer = {}
        elif message.method == "tools/list":
            answer, lasts = {"tools": self._tools(message, dialect)}, True
        elif message.method == "server/discover" and dialect.stateless:
            answer = {"supportedVersions": list(STATELESS), "capabilities": {"tools": {}}}
            answer, lasts = {**answer, "instructions": self._toolbox.instructions}, True
        else:
            known = "initialize, ping, server/discover, tools/list, tools/call"
            raise ProtocolFault(METHOD_NOT_FOUND, f"unknown method {shown(message.method)}. Known: {known}", message.id)
        reply(json_rpc.result(message.id, dialect.result(answer, self._about, lasts)))

    def _tools(self, message: Message, dialect: Dialect) -> list[Answer]:
        if message.params.get("cursor") is not None:
            raise ProtocolFault(INVALID_PARAMS, "all tools are on one page: leave out params.cursor", message.id)
        return self._toolbox.listed(dialect)

    def _call(self, message: Message, dialect: Dialect, reply: Reply) -> None:
        name, arguments = message.params.get("name"), message.params.get("arguments")
        meta = message.params.get("_meta")
        if not isinstance(name, str) or not self._toolbox.knows(name):
            problem = f"unknown tool {shown(name)}" if isinstance(name, str) else "params.name must be a tool's name"
            raise ProtocolFault(INVALID_PARAMS, problem + ". tools/list names them", message.id)
        if arguments is not None and not isinstance(arguments, dict):
            raise ProtocolFault(INVALID_PARAMS, "params.arguments must be an object", message.id)
        self._calls = self._calls or Calls()
        if self._calls.has(message.id):
            raise ProtocolFault(INVALID_REQUEST, "another request with this id is still running. Give each its own id", message.id)

        def work(call: Call) -> Answer:
            progress = Progress(call, as_object(meta).get("progressToken"), self._send)
            result = self._toolbox.call(name, arguments or {}, dialect, progress)
            return json_rpc.result(message.id, dialect.result(result, self._about))

        self._calls.add(Call(message.id, work, reply))


def _read(value: object) -> Message | ProtocolFault | None:
    try:
        return json_rpc.message_of(value)
    except ProtocolFault as fault:
        return fault
