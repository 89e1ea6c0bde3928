"""Conversations of an agent with a provider that seals thinking, built by the builder at every request. And what OpenAI refuses."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from popkit_retention.context import ContextBuildOptions, ContextResult, Provider, Sources, build_context
from tests.client.provider import sealed

BOUND, UNBOUND = "claude-opus-5-5", "claude-opus-4-8"
Message = dict[str, Any]


def listing(path: str, lines: int, seed: int = 0) -> str:
    """A file as a Read shows it, with names that no other has."""
    return "\n".join(f"{n:>6}\tdef handler_{path[:1]}_{seed}_{n}(request): return settings_{n}" for n in range(1, lines + 1))


class Talk:
    """The caller's side: `messages` grow with what the user says, the model answers and tools return; each request is built first."""

    def __init__(self, provider: Provider = Provider.ANTHROPIC, model: str = BOUND, sources: Sources = Sources()) -> None:  # noqa: B008
        self.provider = provider
        self.model = model
        self.sources = sources
        self.messages: list[Message] = []
        self.results: list[ContextResult] = []
        self.state: dict[str, Any] | None = None
        self.calls = 0

    def build(self, used: float = 0.0, **more: Any) -> ContextResult:
        """Builds the request that would go out now; what it hands on comes back through JSON."""
        kept = copy.deepcopy(self.messages)
        options = ContextBuildOptions(
            messages=self.messages, provider=self.provider, model=self.model, budgetPercent=used, previous=self.state, **more
        )
        built = build_context(options, self.sources)
        assert self.messages == kept
        self.state = json.loads(json.dumps(built.state))
        self.results.append(built)
        return built

    def ask(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def answer(self, text: str = "", calls: Sequence[tuple[str, dict[str, Any], str]] = (), thinking: bool = False) -> None:
        """The model answers the last build; `calls`: (tool, input, what it returns)."""
        ids = [f"call_{self.calls + n}" for n in range(len(calls))]
        self.calls += len(calls)
        if self.provider is Provider.OPENAI:
            self._answer_openai(text, calls, ids, thinking)
            return
        blocks: list[Message] = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": "Hm.", "signature": sealed(self.results[-1].messages)})
        if text or not calls:
            blocks.append({"type": "text", "text": text or "Done."})
        blocks += [{"type": "tool_use", "id": id, "name": tool, "input": given} for id, (tool, given, _) in zip(ids, calls)]
        self.messages.append({"role": "assistant", "content": blocks})
        if calls:
            results = [
                {"type": "tool_result", "tool_use_id": id, "content": text, **({"is_error": True} if text.startswith("Error") else {})}
                for id, (_, _, text) in zip(ids, calls)
            ]
            self.messages.append({"role": "user", "content": results})

    def _answer_openai(self, text: str, calls: Sequence[tuple[str, dict[str, Any], str]], ids: list[str], thinking: bool) -> None:
        answer: Message = {"role": "assistant", "content": text or (None if calls else "Done.")}
        if thinking:
            answer["reasoning_content"] = "Hm."
            answer["thinking_blocks"] = [{"type": "thinking", "thinking": "Hm.", "signature": openai_seal(self.results[-1].messages)}]
        if calls:
            answer["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
                for id, (tool, given, _) in zip(ids, calls)
            ]
        self.messages.append(answer)
        self.messages += [{"role": "tool", "tool_call_id": id, "content": text} for id, (_, _, text) in zip(ids, calls)]

    def work(self, request: str, *calls: tuple[str, dict[str, Any], str], thinking: bool = False, used: float = 0.0) -> None:
        """A whole exchange: a request, a build before each answer, each call by itself, and a last word."""
        self.ask(request)
        for call in calls:
            self.build(used)
            self.answer("", [call], thinking)
        self.build(used)
        self.answer(f"I have done it: {request}", thinking=thinking)

    def went_on(self, exchanges: Any) -> None:
        """Exchanges of which none was built before the next request: [(what is asked, [(calls, whether it thinks, text)], …)]."""
        for request, steps, *_ in exchanges:
            self.ask(request)
            for calls, _, text in steps:
                self.answer(text, calls)
            self.answer("That is all.")
        self.ask("And now?")


def reading(path: str, lines: int = 60, seed: int = 0) -> tuple[str, dict[str, Any], str]:
    return "Read", {"file_path": path}, listing(path, lines, seed)


def editing(path: str) -> tuple[str, dict[str, Any], str]:
    return "Edit", {"file_path": path, "old_string": "handler", "new_string": "answerer"}, f"The file {path} has been updated."


PATHS = st.sampled_from(["/p/app.py", "/p/basic.py", "/p/core/one.py"])
CALLS = st.one_of(
    st.builds(reading, PATHS, st.integers(0, 120), st.integers(0, 3)),
    st.builds(editing, PATHS),
    st.builds(
        lambda n: ("Bash", {"command": "npm test"}, "\n".join(f"ok {i} passed" for i in range(n)) + "\n1 failed"), st.integers(0, 90)
    ),
    st.builds(lambda n: ("Grep", {"pattern": "handler"}, "\n".join(f"/p/app.py:{i}: handler" for i in range(n))), st.integers(0, 90)),
    st.just(("Bash", {"command": "cat nothing"}, "Error: Exit code 1\nno such file")),
    st.just(("search_web", {"query": "x"}, "")),
)
STEPS = st.lists(st.tuples(st.lists(CALLS, min_size=1, max_size=3), st.booleans(), st.sampled_from(["", "I look."])), max_size=4)
EXCHANGES = st.lists(
    st.tuples(st.text("abc xyz\n", min_size=1, max_size=40).filter(str.strip), STEPS, st.booleans()), min_size=1, max_size=7
)


def openai_seal(messages: Sequence[Message]) -> str:
    """The seal of what is thought over these messages: of all in them but other thinking."""
    without_thinking = [
        {name: value for name, value in message.items() if name not in ("thinking_blocks", "reasoning_content")} for message in messages
    ]
    return (hashlib.sha256(json.dumps(without_thinking, sort_keys=True).encode()).hexdigest() * 6)[:360]


def openai_faults(messages: Sequence[Message]) -> list[str]:
    """What OpenAI would refuse in the messages of a request, or a provider behind LiteLLM that seals thinking."""
    faults, waiting = [], []
    for number, message in enumerate(messages):
        if any(block["signature"] != openai_seal(messages[:number]) for block in message.get("thinking_blocks") or ()):
            faults.append(f"message {number}: thinking that is bound to a different conversation")
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                faults.append(f"message {number}: a result without a call")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            faults.append(f"message {number}: calls without results: {waiting}")
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if not (message.get("content") or waiting):
            faults.append(f"message {number}: empty")
    if waiting:
        faults.append("calls without results at the end")
    if not any(message["role"] == "user" for message in messages):
        faults.append("the user says nothing")
    return faults
