"""What OpenCode's requests show, whichever provider they are for."""

from __future__ import annotations

import random
import re
from typing import Any

from tests.client.append_only import changes, dangling
from tests.client.scripted_api import Step, call, say, text_of

from .client import Project
from .scripted_api import BothApis, as_messages

HANDLE = re.compile(r"popkit restore ([a-z2-7]{8})")
_WORDS = "amber birch cedar delta ember fjord grove heron islet jetty kelp larch".split()
LINES = 120


def big_file(seed: int = 1) -> str:
    """A file of lines that differ."""
    rng = random.Random(seed)
    lines = (f"const {rng.choice(_WORDS)}_{n} = {rng.randrange(10**6)}; // {' '.join(rng.sample(_WORDS, 4))}" for n in range(LINES))
    return "\n".join(lines) + "\n"


def twice(path: str = "{work}/src/big.js") -> list[Step]:
    """A file is read, and shown once more by a command."""
    return [
        call(("read", {"filePath": path})), call(("bash", {"command": f"cat {path}", "description": "show it"})), say("Both are the same."),
    ]  # fmt: skip


def bodies(api: BothApis, project: Project) -> list[dict[str, Any]]:
    """The requests of the conversation, in Anthropic's form."""
    chat = project.provider != "anthropic"
    return [as_messages(body) if chat else body for body in api.conversation(chat)]


def results(body: dict[str, Any]) -> dict[str, str]:
    """Tool use id -> the text of its result, as the model sees it."""
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    return {block["tool_use_id"]: text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"}


def broken(requests: list[dict[str, Any]]) -> list[str]:
    """What breaks the laws of the door in the requests of a conversation: what was sent and changed, references that lead nowhere."""
    return [*changes(requests), *(found for request in requests for found in dangling(request))]
