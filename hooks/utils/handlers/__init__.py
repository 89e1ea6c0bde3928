"""The life of a hook around its handler. Fail open: whatever happens, exit 0, and nothing on stdout but a whole answer.

This is the one place with a broad except: a guest never fails the session; the failure is logged and counted (`popkit doctor`).
"""

from __future__ import annotations

import sys

from ..errors import PopkitError
from ..io import codec, files
from ..io.system import environment, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# Larger payloads are not read: the call is read from the transcript later. The host has been seen to send 5 MB.
PAYLOAD_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 16  # what a pipe holds


def run(handler: Callable[[dict[str, object], dict[str, str]], dict[str, object] | str | None], hook: str) -> None:
    """Read the payload from stdin, write the handler's answer (a JSON object, a text, or None for silence), and end the process."""
    environ = environment()
    files.patience.left_s = files.HOOK_WAIT_S
    if not environ.get("POPKIT_OFF"):
        try:
            answer = handler(_payload(), environ)
            if answer:
                _write(answer if isinstance(answer, str) else codec.dumps(answer))
            _remember_modules()
        except BaseException as error:  # noqa: BLE001  fail open, see above
            _give_up(environ, hook, error)
    os._exit(0)  # noqa: SLF001  skips the interpreter's clean-up, which costs as much as the work


def _payload() -> dict[str, object]:
    chunks, size = [], 0
    while True:
        chunk = os.read(0, _CHUNK)
        if not chunk:
            break
        size += len(chunk)
        if size > PAYLOAD_BYTES:
            _drain()
            raise OversizedPayload(str(size))
        chunks.append(chunk)
    value = codec.loads(b"".join(chunks).decode("utf-8", "replace"))
    if not isinstance(value, dict):
        raise ValueError("a payload is an object")
    return value


def _drain() -> None:
    """Read the rest of the pipe, so that the host's write does not fail."""
    while os.read(0, _CHUNK):
        continue


class OversizedPayload(PopkitError, OSError):
    """A payload of more than 64 MB."""


def _remember_modules() -> None:
    """Pack the modules of this hook into one file for the next one, if its entry script uses the pack."""
    pack: Any = sys.modules.get("pack")
    outdated = pack.outdated() if pack is not None else None
    if outdated is not None:
        try:
            from .. import packing  # seldom

            packing.remake(pack, outdated)
        except OSError:
            return  # a folder that cannot be written: the next hook loads its modules one by one


def _write(text: str) -> None:
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]


def _give_up(environ: Mapping[str, str], hook: str, error: BaseException) -> None:
    try:
        from ..io import home, hook_log

        if isinstance(error, home.HomeRefused):  # there is no log to say so in
            if hook == "session-start":
                _write(codec.dumps({"systemMessage": f"PopKit is off in this session. {error}."}))
            return
        hook_log.log_failure(environ, hook, error)
    except BaseException:  # noqa: BLE001  not even the log can be written
        sys.stderr = None
