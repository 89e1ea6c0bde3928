"""How long a build takes. Measured with --bench."""

from __future__ import annotations

import statistics
import time

import pytest

from popkit_retention.context import ContextBuildOptions, build_context
from tests.context.talking import Talk, editing, reading


def long_conversation() -> Talk:
    talk = Talk()
    for n in range(48):
        talk.ask(f"Do part {n}.")
        for k in range(4):
            talk.answer("I read.", [reading(f"/p/{n}/file{k}.py", 45, 100 * n + k)])
            talk.answer("", [("Bash", {"command": f"cd /p && npm test -- file{k}"}, "ok 1 passed\n" * 12), editing(f"/p/{n}/file{k}.py")])
        talk.answer("I have done it, and the tests pass.")
    talk.ask("And now?")
    return talk


@pytest.mark.bench
def test_a_conversation_of_200000_tokens_is_built_in_100_ms():
    talk = long_conversation()
    options = ContextBuildOptions(messages=talk.messages, budgetPercent=30.0)
    assert 180_000 < build_context(options).full_tokens < 260_000
    taken = []
    for _ in range(9):
        begun = time.perf_counter()
        build_context(options)
        taken.append(time.perf_counter() - begun)
    assert statistics.median(taken) < 0.1
