"""Serve the tools of all features on standard input and output: arguments are checked, errors say what to do, answers are data and text.
Nothing else can print there, and the server ends when the client has gone."""

from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import threading
from importlib import import_module
from typing import Any

from .. import features
from . import json_rpc
from .call import ToolCall, ToolError
from .schema_check import wrong
from .server import Cancelled, Server
from .tool import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import NoReturn

    from .json_rpc import Dialect
    from .server import Progress
    from .tool import Tool

HOOK = "mcp"  # in the log of failures
INSTRUCTIONS = "What was cleared from this conversation is kept: find it with context_search, read it with context_restore."


def table() -> dict[str, Tool]:
    """Return the tools of all features that are there, by name."""
    return {tool.name: tool for module in _modules() for tool in module.TOOLS}


def _modules() -> list[Any]:
    return [import_module(feature.tools) for feature in features.whole() if feature.tools]


class Tools:
    """The tools for one client. The project is that of CLAUDE_PROJECT_DIR, else of the working folder."""

    instructions = INSTRUCTIONS

    def __init__(self, environ: Mapping[str, str], folder: str = "") -> None:
        self._environ = environ
        self._folder = folder or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        self._table = table()

    def listed(self, dialect: Dialect) -> list[dict[str, Any]]:
        allowed = ToolCall(self._environ, self._folder).all_projects
        return [tool.listed(dialect, allowed) for tool in self._table.values()]

    def knows(self, name: str) -> bool:
        return name in self._table

    def call(self, name: str, arguments: dict[str, Any], dialect: Dialect, progress: Progress) -> dict[str, Any]:
        """Return the result of a call. An error is a result, too, with a message for the model; only Cancelled is raised."""
        try:
            data = self._answer(self._table[name], arguments, progress)
            text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours must not end the server: it is logged, and the model gets a message
            return _failed(self._message(name, error))
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if dialect.structured:
            result["structuredContent"] = data
        return result

    def _answer(self, tool: Tool, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        accepted = dict(arguments)
        wide = tool.wide and accepted.pop("project", "here") == ALL
        mistake = wrong(tool.takes, accepted if tool.wide else arguments)
        if mistake:
            raise ToolError(mistake)
        call = ToolCall(self._environ, self._folder, accepted, progress, wide)
        if wide and not call.all_projects:
            raise ToolError(
                'arguments.project: the user has not allowed other projects. Omit it; {"mcp": {"all_projects": true}} in the user\'s '
                "own retention-config.json would allow it"
            )
        return tool.does(call)

    def _message(self, name: str, error: Exception) -> str:
        message = _advice(error)
        if message:
            return message
        from hooks.utils.io import hook_log

        hook_log.log_failure(self._environ, HOOK, error)
        return f"{name} failed inside PopKit ({type(error).__name__}). Nothing more can be done here; `popkit doctor` tells the user more."


def _advice(error: Exception) -> str:
    """Return the message for an error that the caller or the user can fix; "" for a fault of ours."""
    from hooks.utils.io.files import LockTimeout
    from hooks.utils.io.home import NoHome
    from hooks.utils.io.sqlite_file import StoreError
    from hooks.utils.reclaim import access, restoring

    for module in _modules():
        if message := module.advice(error):
            return str(message)
    if isinstance(error, (ToolError, NoHome, LockTimeout)):
        return str(error)
    if isinstance(error, (access.Refused, restoring.NotFound, StoreError)):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the store cannot be used now: {error}. Try again; `popkit doctor` tells the user more"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return ""


def _failed(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}


# --- standard input and output ---


_READ_BYTES = 1 << 16
# How long to wait for running tools once no more requests can come: while the client still reads, and while it does not.
_GRACE_S, _HURRY_S = 10.0, 0.5


class _Ended(BaseException):
    """A signal ended the server."""


def serve(environ: Mapping[str, str], version: str) -> None:
    """Serve one client until it closes its end of the streams, or a signal comes."""
    out = _private_output()
    server = Server(Tools(environ), _sender(out), version)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        _read(server)
        done = server.finish(_GRACE_S if _is_read(out) else _HURRY_S)
    except _Ended:
        done = server.finish(_HURRY_S)
    if not done:
        # A tool ignores its cancellation: it works in transactions, and the next process finishes what it began.
        os._exit(0)


def _read(server: Server) -> None:
    lines = json_rpc.Lines()
    while data := _bytes():
        for line in lines.feed(data):
            server.take(line)
    if lines.rest():
        server.take(lines.rest())


def _bytes() -> bytes:
    """Return the bytes that have come in; none at the end."""
    select.select([0], [], [])  # a client may pass us its own end, which does not block
    try:
        return os.read(0, _READ_BYTES)
    except ConnectionResetError:
        return b""


def _private_output() -> int:
    """Return a private descriptor of standard output; from now on what is printed goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _is_read(out: int) -> bool:
    """Return whether the other end of the output is still open."""
    poll = select.poll()
    poll.register(out, 0)
    return not poll.poll(0)


def _sender(out: int) -> Callable[[object], None]:
    lock = threading.Lock()

    def send(message: object) -> None:
        data = memoryview(json_rpc.encoded(message))
        with lock:
            try:
                while data:
                    select.select([], [out], [])
                    data = data[os.write(out, data) :]
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)  # the client no longer reads; all work is done in transactions

    return send


def _end(number: int, frame: FrameType | None) -> NoReturn:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # once is enough
    raise _Ended
