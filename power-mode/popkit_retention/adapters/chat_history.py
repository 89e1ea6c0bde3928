"""The decision of the context builder on a framework's own history, whose messages are written as OpenAI's for the time of a build."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..context.build_types import ContextBuildOptions, ContextResult
from ..context.builder import NO_SOURCES, build_context
from ..context.provider_forms import Provider
from ..context.sources import Sources

PLACE = "popkit_place"  # the field of a message that the builder carries along, and nobody sends


class Settings(NamedTuple):
    """The builder's settings beside the messages: as in `ContextBuildOptions`, and the sources of memories and files."""

    model: str = ""
    max_tokens: int | None = None
    budget_used_percent: float | None = None
    project: str = ""
    sources: Sources = NO_SOURCES


def built(chat: list[dict[str, object]], previous: dict[str, object] | None, settings: Settings, system: str = "") -> ContextResult:
    """Return the built context of messages, each of which has its number in the field PLACE, also where the builder has edited it."""
    options = ContextBuildOptions(
        messages=[{**message, PLACE: number} for number, message in enumerate(chat)],
        budgetPercent=settings.budget_used_percent,
        provider=Provider.OPENAI,
        model=settings.model,
        system=system or None,
        project=settings.project,
        max_tokens=settings.max_tokens,
        previous=previous,
    )
    return build_context(options, settings.sources)


def kept(result: ContextResult) -> dict[int, dict[str, object]]:
    """Return the messages that stay, by their numbers."""
    return {message[PLACE]: message for message in result.messages}


def added_texts(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the texts that the builder has put before a user's own."""
    own, content = before.get("content"), after.get("content")
    if content == own or not isinstance(content, list):
        return []
    count = len(content) - (1 if isinstance(own, str) else len(own or ()))
    return [block["text"] for block in content[:count]]
