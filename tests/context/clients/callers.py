"""The four clients, called alike; and builds and books that a test sees through."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from popkit_retention.clients import with_context
from popkit_retention.context.build_types import ContextBuildOptions, ContextResult, LayerShare, PruningStrategy, TierBreakdown
from popkit_retention.context.requests import AnswerUsage, Caller, Request
from popkit_retention.context.service import ContextService
from popkit_retention.context.sources import Sources
from tests.patience import HANG_S

from .providers import Providers

MODEL, FALLBACK = "scripted-large", "scripted-small"
QUESTION = [{"role": "user", "content": "first question"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "second"}]
BUILT = "built in front"
STRATEGY = PruningStrategy(budget_range=">=80%", tier1_messages=1, tier2_items="all", tier3_mode="full", tier4_messages=10)


def with_a_mark(options: ContextBuildOptions, sources: Sources) -> ContextResult:
    """A build whose work shows: a mark in front, and how often the conversation has been built."""
    built = (options.previous or {}).get("built", 0) + 1
    front = {"role": "user", "content": f"{BUILT} {built}"}
    answer = {"role": "assistant", "content": "noted"}
    return result([front, answer, *options.messages], {"built": built}, options)


def result(messages: list[dict[str, Any]], state: dict[str, Any], options: ContextBuildOptions) -> ContextResult:
    used = options.budget_used_percent or 0.0
    return ContextResult(
        messages=messages,
        tiers=[],
        total_tokens=len(messages),
        tier_breakdown=TierBreakdown(tier1=LayerShare(tokens=1, items=1)),
        pruning_strategy=STRATEGY,
        budget_used_percent=used,
        budget_remaining_percent=max(0.0, 100.0 - used),
        state=state,
    )


class Ledger:
    """Books in memory."""

    def __init__(self, used_percent: float | None = None) -> None:
        self.percent = used_percent
        self.builds: list[tuple[Caller, ContextResult]] = []
        self.answers: list[tuple[Caller, str, AnswerUsage]] = []

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        return self.percent

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None:
        self.builds.append((caller, result))

    def answered(self, caller: Caller, model: str, used: AnswerUsage) -> None:
        self.answers.append((caller, model, used))

    def close(self) -> None:
        """Nothing waits."""


class Kind(NamedTuple):
    """A provider's client, synchronous or not. `name`: of its package, which takes a second to load and so is loaded only here."""

    name: str
    asynchronous: bool

    def make(self, api: Providers, **options: Any) -> Any:
        package = importlib.import_module(self.name)
        plain = package.DefaultAsyncHttpxClient if self.asynchronous else package.DefaultHttpxClient
        # No certificates are loaded, which takes longer than a call: nothing here is encrypted.
        # The packages give an asynchronous client 5 s to connect by the loop's clock, which runs on while a busy machine lets the process
        # wait: it gives up although the connection stands.
        options = {"api_key": "none", "max_retries": 0, "timeout": HANG_S, "http_client": plain(verify=False), **options}
        if self.name == "anthropic":
            return (package.AsyncAnthropic if self.asynchronous else package.Anthropic)(base_url=api.url, **options)
        return (package.AsyncOpenAI if self.asynchronous else package.OpenAI)(base_url=api.url + "/v1", **options)

    def create(self, client: Any, **arguments: Any) -> Any:
        """The method that every caller knows, with the least that it needs; a coroutine where the client is asynchronous."""
        arguments = {"model": MODEL, "messages": QUESTION, **arguments}
        if self.name == "anthropic":
            return client.messages.create(**{"max_tokens": 64, **arguments})
        return client.chat.completions.create(**arguments)

    def ask(self, client: Any, **arguments: Any) -> Any:
        """A call from beginning to end: the answer, or all events of its stream."""
        if self.asynchronous:
            return asyncio.run(self._ask(client, arguments))
        with client:
            answer = self.create(client, **arguments)
            return list(answer) if arguments.get("stream") else answer

    async def _ask(self, client: Any, arguments: dict[str, Any]) -> Any:
        async with client:
            answer = await self.create(client, **arguments)
            return [event async for event in answer] if arguments.get("stream") else answer

    def text(self, answer: Any) -> str:
        """What an answer says."""
        if self.name == "anthropic":
            return "".join(block.text for block in answer.content)
        return answer.choices[0].message.content

    def streamed_text(self, events: list[Any]) -> str:
        """What a stream says."""
        if self.name == "anthropic":
            return "".join(event.delta.text for event in events if event.type == "content_block_delta").strip()
        return "".join(event.choices[0].delta.content or "" for event in events if event.choices).strip()


KINDS = [Kind(name, asynchronous) for name in ("anthropic", "openai") for asynchronous in (False, True)]


def id_of(kind: Kind) -> str:
    return kind.name + ("-async" if kind.asynchronous else "")


class Backend:
    """A provider's API with a service before it: what a test needs of both."""

    def __init__(
        self, api: Providers, build: Callable[[ContextBuildOptions, Sources], ContextResult] = with_a_mark, ledger: Ledger | None = None
    ) -> None:
        self.api = api
        self.ledger = ledger or Ledger()
        self.service = ContextService(build, log=self.ledger)

    def client(self, kind: Kind, *, user_id: str = "dana", max_retries: int = 0, timeout: Any = HANG_S, **setting: Any) -> Any:
        return with_context(kind.make(self.api, max_retries=max_retries, timeout=timeout), user_id=user_id, service=self.service, **setting)


def in_threads(work: Callable[[int], object], count: int) -> None:
    """All at once, each in a thread of its own; what fails in one fails here."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001  it is told below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
