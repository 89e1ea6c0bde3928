"""Servers that are forked from one process which has loaded what they need: loading it takes longer than most tests."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from typing import Any

from popkit_retention.dashboard import server

_forking = multiprocessing.get_context("forkserver")
# A server loads the last two when it begins, and all that they stand on.
_forking.set_forkserver_preload([__name__, "popkit_retention.dashboard.app", "popkit_retention.dashboard.security"])


class _Output:
    """What a server writes to its output, in the test's process."""

    def __init__(self, test: Connection) -> None:
        self._test = test

    def write(self, words: str) -> None:
        self._test.send(words)

    def flush(self) -> None:
        """Each word is sent at once."""


def _serve(asked: dict[str, Any], environ: dict[str, str], test: Connection) -> None:
    os.environ.clear()
    os.environ.update(environ)
    sys.stdout = _Output(test)  # type: ignore[assignment]
    sys.exit(server.main([json.dumps(asked)], environ))


def start(asked: dict[str, Any], environ: dict[str, str]) -> tuple[multiprocessing.process.BaseProcess, str]:
    """(a process that serves as `python serving.py` does, what it says of its address). EOFError where it ends without a word."""
    test, output = _forking.Pipe(duplex=False)
    process = _forking.Process(target=_serve, args=(asked, environ, output), daemon=True)
    process.start()
    output.close()
    try:
        return process, test.recv()
    finally:
        test.close()
