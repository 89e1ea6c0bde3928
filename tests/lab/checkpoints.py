"""Checkpoints as Entire lays them down: in a folder, on the branch of a real Git repository, and each in a ref of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.patience import HANG_S

SESSION = "7c1e52f0-1111-4222-8333-444455556666"
CREATED = "2026-09-21T10:00:00.5Z"
BRANCH = "refs/heads/entire/checkpoints/v1"
_WHO = {"GIT_AUTHOR_NAME": "d", "GIT_AUTHOR_EMAIL": "d@example.org", "GIT_COMMITTER_NAME": "d", "GIT_COMMITTER_EMAIL": "d@example.org"}


def metadata(session: str = SESSION, created_at: str = CREATED, agent: str = "Codex") -> bytes:
    """What Entire knows of one session in a checkpoint."""
    return json.dumps({"session_id": session, "created_at": created_at, "agent": agent, "checkpoints_count": 1}).encode()


def files(data: bytes, folder: str = "", **known: str) -> dict[str, bytes]:
    """The files of one session of a checkpoint, in a folder of it that ends in /."""
    condensed = b'{"v":1,"agent":"codex","type":"user","content":[{"text":"go"}]}\n'
    return {folder + "full.jsonl": data, folder + "transcript.jsonl": condensed, folder + "metadata.json": metadata(**known)}


class Repository:
    """A Git repository in which Entire has kept checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "--initial-branch=main")

    def git(self, *words: str, data: bytes = b"", **environ: str) -> str:
        """What git prints."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", **_WHO, **environ}
        done = subprocess.run(["git", "-C", str(self.folder), *words], input=data, capture_output=True, env=own, check=True, timeout=HANG_S)
        return done.stdout.decode().strip()

    def commit(self, ref: str, held: dict[str, bytes], at: str = "2026-09-21T10:00:00Z") -> str:
        """Let a ref lead to a commit with these files alone; its id."""
        index = {"GIT_INDEX_FILE": str(self.folder / ".git" / "index-of-test")}
        self.git("read-tree", "--empty", **index)
        for path, data in held.items():
            blob = self.git("hash-object", "-w", "--stdin", data=data)
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
        commit_id = self.git("commit-tree", self.git("write-tree", **index), "-m", "Checkpoint", GIT_COMMITTER_DATE=at)
        self.git("update-ref", ref, commit_id)
        return commit_id

    def checkpoint(self, data: bytes, id: str = "ab12cd34ef56", at: str = CREATED, **known: str) -> str:
        """Keep a checkpoint of one session in a ref of its own; the id of its commit."""
        root = json.dumps({"checkpoint_id": id, "sessions": [{"metadata": "0/metadata.json"}]}).encode()
        held = {"metadata.json": root, **files(data, "0/", created_at=at, **known)}
        return self.commit(f"refs/entire/checkpoints/{id[-2:]}/{id}", held, at)
