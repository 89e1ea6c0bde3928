"""The laws of the door and of what was sent, over a conversation of any host. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import reference_decoder as reading
from tests.client.append_only import Body, changes, dangling, unfounded
from tests.client.provider import blocks_of
from tests.client.scripted_api import text_of

SENT = "requests begin with what the one before sent"
FOLLOWED = "references lead to one place in the same request"
FOUNDED = "lines of a shortened result are its own, a reference or a count"
BACK = "shortened results come back by their handle"
LAWS = (SENT, FOLLOWED, FOUNDED, BACK)


@dataclass
class Played:
    """A conversation that was played in a host: its `threads`, each the requests that go on from each other, in Anthropic's form;
    `restore(handle)`: what the archive holds."""

    threads: list[list[Body]]
    restore: Callable[[str], str]


@dataclass
class Checked:
    """How often a law was checked, and what breaks it."""

    count: int
    broken: list[str]


def check(played: Played) -> dict[str, Checked]:
    """Every law over a conversation."""
    threads = [thread for thread in played.threads if thread]
    bodies = [body for thread in threads for body in thread]
    named = [(text, handle) for thread in threads for text in results(thread[-1]) for handle in handles(text)]
    whole = {text: played.restore(handle) for text, handle in named}
    return {
        SENT: Checked(sum(len(thread) - 1 for thread in threads), [found for thread in threads for found in changes(thread)]),
        FOLLOWED: Checked(
            sum(len(reading.references(text)) for body in bodies for text in results(body)),
            [found for body in bodies for found in dangling(body)],
        ),
        FOUNDED: Checked(sum(len(text.split("\n")) for text in whole), [line for text in whole for line in unfounded(text, whole[text])]),
        BACK: Checked(len(whole), [text for text, restored in whole.items() if len(restored) <= len(text)]),
    }


def results(body: Body) -> list[str]:
    """The texts of the results in a request."""
    blocks = [block for message in body["messages"] for block in blocks_of(message)]
    return [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def handles(text: str) -> list[str]:
    """The handle that a shortened result names, where it names one."""
    return [reference["handle"] for _, reference in reading.references(text) if reference["handle"]][:1]
