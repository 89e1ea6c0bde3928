"""The popkit command within the process of the tests: what a process of its own would print, and how it would end, without its start."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from popkit_retention.cli.main import main


def run(words: Sequence[str], environ: Mapping[str, str], cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess:
    """One run of the command in a folder; its output as text."""
    streams = [io.TextIOWrapper(io.BytesIO(given), "utf-8", "surrogateescape", write_through=True) for given in (stdin, b"", b"")]
    with _standing_in(cwd, streams):
        try:
            code = main(list(words), environ)
        except SystemExit as end:
            code = int(end.code or 0)
    out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])
    return subprocess.CompletedProcess(["popkit", *words], code, out, err)


@contextlib.contextmanager
def _standing_in(cwd: Path, streams: list[io.TextIOWrapper]) -> Iterator[None]:
    before, folder = (sys.stdin, sys.stdout, sys.stderr), Path.cwd()
    os.chdir(cwd)
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        os.chdir(folder)
