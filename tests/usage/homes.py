"""A home that knows sessions, their transcripts as the host writes them, and what was booked of them; and what several processes do with
one store of usage at once."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from popkit_retention.core.state import session
from popkit_retention.usage import ingestion, postgres, sqlite
from popkit_retention.usage.configured_database import open_local, open_store
from popkit_retention.usage.records import Sum
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function
from tests.patience import HANG_S

NOW = 1_795_400_000.0
MODEL = "claude-fable-5-2"


class House:
    """A home of ours in a folder, its transcripts beside it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.transcripts = folder / "home", folder / "transcripts"
        self.environ = {
            "POPKIT_HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(folder / "claude"), "LOGNAME": "alice", "POPKIT_CLOCK": str(NOW)
        }  # fmt: skip
        self.transcripts.mkdir()

    def configure(self, **context: object) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "retention-config.json").write_text(json.dumps({"context": context}))

    def begin(self, id: str = "s1", **facts: Any) -> Path:
        """A session that the hooks have seen; its transcript, which has nothing in it yet."""
        path = self.transcripts / f"{id}.jsonl"
        path.touch()
        session.update(str(self.home), id, **{"transcript": str(path), "project": "/shop", "model": MODEL, **facts})
        return path

    def catch_up(self) -> int:
        return ingestion.catch_up(self.environ)

    def used(self, id: str = "s1") -> Sum:
        """What was booked for a session."""
        with open_local(self.environ) as found:
            return found.of_session(id)


def answer(id: str, output: int = 5, at: float = NOW, **more: object) -> bytes:
    """A line of a transcript: an answer of 1 token in, 2 read from the cache, 4 written to it for five minutes and 3 for an hour."""
    created = {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 4}
    counted = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 7, "cache_creation": created}
    message = {"id": id, "model": MODEL, "usage": {**counted, "output_tokens": output}, "content": [], **more}
    stamp = datetime.fromtimestamp(at, timezone.utc).isoformat().replace("+00:00", "Z")
    return json.dumps({"type": "assistant", "timestamp": stamp, "message": message}, separators=(",", ":")).encode() + b"\n"


def user_line(text: str) -> bytes:
    """A line of a transcript that tells of no request."""
    return json.dumps({"type": "user", "message": {"content": text}}).encode() + b"\n"


def append(path: Path, *lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(lines))


def _wait_long() -> None:
    postgres.PATIENCE_S = sqlite.PATIENCE_S = HANG_S  # the machine may be busy


def open_it() -> None:
    _wait_long()
    open_store(os.environ).close()


def catch_up() -> None:
    _wait_long()
    ingestion.catch_up(os.environ)


def all_open(forks: Forks, environ: dict[str, str]) -> None:
    """Have several processes open the store at once."""
    all_do(forks, [Function("tests.usage.homes:open_it", [])] * 4, environ)


def all_catch_up(forks: Forks, environ: dict[str, str]) -> None:
    """Have several processes catch up at once."""
    all_do(forks, [Function("tests.usage.homes:catch_up", [])] * 3, environ)
