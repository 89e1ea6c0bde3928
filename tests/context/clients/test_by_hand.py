"""The example of docs/context.md that builds by hand, run as it stands there with the provider's package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .callers import KINDS
from .providers import Providers

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "context.md").read_text(encoding="utf-8")


def test_the_example_builds_each_request_on_the_one_before(api: Providers) -> None:
    example = re.search(r"\n# By hand\n\n```python\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    # Closed here: globals are a cycle, and the collector may come to a socket in it before it comes to the client that would close it.
    with KINDS[0].make(api) as client:
        told: dict[str, Any] = {"client": client, "messages": [], "MODEL": "claude-opus-4-8"}
        exec(example[1], told)  # noqa: S102  our own example
    first, second = api.requests
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[: len(first.messages)] == first.messages
    assert told["built"].appended
