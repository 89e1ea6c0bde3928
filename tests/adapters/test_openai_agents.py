"""The OpenAI Agents SDK with our session, against its own scripted model; and the session by itself, which needs no SDK."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from popkit_retention.core.io.sqlite_file import StoreError

if TYPE_CHECKING:
    from popkit_retention.adapters.openai_agents import PopkitSession

FILE = "\n".join(f"{number}: value_{number} = compute({number * number})" for number in range(300))
NEEDS_THE_SDK = pytest.mark.skipif(find_spec("agents") is None, reason="openai-agents is not installed: it needs Python 3.10")


@pytest.fixture(scope="module")
def opened() -> type[PopkitSession]:
    from popkit_retention.adapters.openai_agents import PopkitSession

    return PopkitSession


@pytest.fixture(params=["file", "memory"])
def session(request: pytest.FixtureRequest, opened: type[PopkitSession], tmp_path: Path) -> Iterator[PopkitSession]:
    session = opened("s1", tmp_path / "sessions.sqlite" if request.param == "file" else ":memory:")
    yield session
    session.close()


def run(*steps: Any) -> list[Any]:
    async def main() -> list[Any]:
        return [await step for step in steps]

    return asyncio.run(main())


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def call(id: str, name: str = "Read", arguments: str = '{"file_path": "/shop/app.py"}') -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def output(id: str, text: Any = FILE) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": text}


def reading(id: str) -> list[dict[str, Any]]:
    return [user(f"read it for {id}"), call(id), output(id), said("done")]


def test_items_come_back_in_the_order_they_were_added(session: PopkitSession) -> None:
    items = [user("hello"), said("hello, you"), user("é “quoted” \u2028")]
    got = run(session.add_items(items[:2]), session.add_items(items[2:]), session.get_items(), session.get_items(2), session.get_items(0))
    assert got[2:] == [items, items[1:], []]


def test_the_newest_item_is_popped_until_none_is_left(session: PopkitSession) -> None:
    run(session.add_items([user("one"), user("two")]))
    assert run(session.pop_item(), session.pop_item(), session.pop_item(), session.get_items()) == [user("two"), user("one"), None, []]


def test_a_cleared_session_is_empty_and_another_one_keeps_its_items(
    session: PopkitSession, opened: type[PopkitSession], tmp_path: Path
) -> None:
    other = opened("s2", tmp_path / "sessions.sqlite")
    run(session.add_items([user("one")]), other.add_items([user("two")]), session.clear_session(), session.add_items([]))
    assert run(session.get_items(), other.get_items()) == [[], [user("two")]]
    other.close()


def test_another_process_of_the_same_file_sees_the_items(opened: type[PopkitSession], tmp_path: Path) -> None:
    one, two = (opened("s1", tmp_path / "sessions.sqlite") for _ in range(2))
    run(one.add_items([user("one")]), two.add_items([said("two")]))
    assert run(one.get_items()) == run(two.get_items()) == [[user("one"), said("two")]]
    one.close()
    two.close()


def test_threads_and_tasks_lose_nothing(session: PopkitSession, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # threads take turns within what they do with the connection

    def add(number: int) -> None:
        run(session.add_items([user(f"{number} a"), user(f"{number} b")]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(25)))
    texts = [item["content"] for item in run(session.get_items(1_000))[0]]
    assert sorted(texts) == sorted(f"{number} {part}" for number in range(25) for part in "ab")
    assert all(after == before.replace("a", "b") for before, after in zip(texts[::2], texts[1::2])), "what is added together stays together"


def test_an_error_names_the_file(opened: type[PopkitSession], tmp_path: Path) -> None:
    (tmp_path / "other.sqlite").write_text("this is no database" * 100)
    with pytest.raises(StoreError, match=r"other\.sqlite"):
        opened("s1", tmp_path / "other.sqlite")
    session = opened("s1", tmp_path / "sessions.sqlite")
    session.close()
    with pytest.raises(StoreError, match=r"sessions\.sqlite: the session cannot be kept"):
        run(session.get_items())


def test_a_result_that_a_later_one_repeats_is_a_notice_and_whole_in_the_file(opened: type[PopkitSession]) -> None:
    session = opened("s1", ":memory:", budget_used_percent=50.0)
    items = [*reading("a"), *reading("b"), user("thanks"), said("welcome"), user("thanks"), said("welcome")]
    run(session.add_items(items))
    (context,) = run(session.get_items())
    outputs = [item["output"] for item in context if item.get("type") == "function_call_output"]
    assert "/shop/app.py" in outputs[0]
    assert len(outputs[0]) < 200
    assert [item.get("call_id") for item in context] == [item.get("call_id") for item in items]
    assert run(session.get_items(len(items))) == [items]


def test_the_context_begins_with_all_that_was_sent_before_until_a_cut_pays(opened: type[PopkitSession]) -> None:
    session = opened("s1", ":memory:", max_tokens=2_500)
    contexts: list[list[Any]] = []
    for number in range(30):
        contexts += run(session.get_items())
        run(session.add_items([user(f"question {number} " + "word " * 120), said("answer " * 20)]))
    cuts = [number for number in range(1, 30) if contexts[number][: len(contexts[number - 1])] != contexts[number - 1]]
    assert cuts
    assert len(cuts) < 20, "a cut is not made for each request"
    assert len(contexts[-1]) < 40


def test_what_stands_for_exchanges_that_left_is_said_before_the_request(opened: type[PopkitSession]) -> None:
    session = opened("s1", ":memory:", max_tokens=1_000)
    for number in range(12):
        run(session.add_items([user(f"question {number} " + "word " * 120), said("answer")]), session.get_items())
    (context,) = run(session.get_items())
    assert context[-1]["role"] == "user"
    assert "PopKit left out what was said before" in context[-1]["content"]
    assert "question 0" in context[-1]["content"]
    run(session.add_items([user("and now?"), said("this")]))
    (after,) = run(session.get_items())
    assert context[-1] in after, "it stays where it was said"
    assert after[after.index(context[-1]) + 1] == user("and now?")


def test_items_that_no_provider_would_take_come_back_as_they_are(session: PopkitSession) -> None:
    items = [user("hello"), output("nobody-called"), said("hm")]
    assert run(session.add_items(items), session.get_items())[1] == items


def items_of(chance: random.Random) -> list[dict[str, Any]]:
    """Items of a finished run, of all kinds."""
    items: list[dict[str, Any]] = []
    for turn in range(chance.randint(1, 10)):
        items.append(user(f"question {turn} " + "word " * chance.randint(0, 80)))
        for step in range(chance.randint(0, 3)):
            ids = [f"call-{turn}-{step}-{number}" for number in range(chance.randint(1, 3))]
            if chance.random() < 0.4:
                items.append({"type": "reasoning", "id": f"r-{turn}-{step}", "summary": [], "encrypted_content": "x" * 200})
            if chance.random() < 0.3:
                items.append({"type": "web_search_call", "id": f"w-{turn}-{step}", "status": "completed", "action": {"type": "search"}})
            custom = chance.random() < 0.2
            shell = {"type": "custom_tool_call", "name": "sh", "input": "ls"}
            items += [{**shell, "call_id": id} if custom else call(id) for id in ids]
            for id in ids:
                kind = "custom_tool_call_output" if custom else "function_call_output"
                text: Any = FILE[: chance.randint(0, 9_000)]
                picture = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": "https://example.com/a.png"}]
                items.append({"type": kind, "call_id": id, "output": picture if chance.random() < 0.2 else text})
        items.append(said("answer " * chance.randint(1, 40)))
    return items


@pytest.mark.parametrize("used", [None, 50.0, 95.0])
@pytest.mark.parametrize("seed", range(12))
def test_calls_and_outputs_stay_pairs_and_the_rest_stays_as_it_came(opened: type[PopkitSession], seed: int, used: float | None) -> None:
    items = items_of(random.Random(seed))
    session = opened("s1", ":memory:", budget_used_percent=used)
    run(session.add_items(items))
    (context,) = run(session.get_items())
    called = [item["call_id"] for item in context if str(item.get("type")).endswith("_call") and "call_id" in item]
    answered = [item["call_id"] for item in context if str(item.get("type")).endswith("_output")]
    assert sorted(called) == sorted(answered)
    changed = [item for item in context if item not in items]
    assert {item.get("type", item.get("role")) for item in changed} <= {
        "function_call_output",
        "custom_tool_call_output",
        "function_call",
        "user",
    }
    known = {item["call_id"]: item for item in items if str(item.get("type")).endswith("_output")}
    assert all(len(item["output"]) < len(known[item["call_id"]]["output"]) for item in changed if "output" in item)
    assert run(session.get_items()) == [context], "the same items give the same context"


@pytest.fixture(scope="module")
def sdk() -> ModuleType:
    """The SDK, which takes seconds to load; it tells nobody what it does."""
    import agents

    agents.set_tracing_disabled(True)
    return agents


@NEEDS_THE_SDK
def test_the_sdk_takes_it_for_a_session(opened: type[PopkitSession], sdk: ModuleType) -> None:
    from agents.memory import Session

    session = opened("s1", ":memory:")
    assert isinstance(session, Session)
    session.close()


@NEEDS_THE_SDK
def test_a_run_goes_on_from_the_session_with_calls_of_its_tools(opened: type[PopkitSession], sdk: ModuleType) -> None:
    from agents.testing import ScriptedModel, assistant_message, function_call

    @sdk.function_tool
    def Read(file_path: str) -> str:  # noqa: N802  the tool is Claude Code's
        """Read a file."""
        return FILE

    steps: list[Any] = []
    for number in range(2):
        steps += [[function_call("Read", {"file_path": "/shop/app.py"}, call_id=f"call-{number}")], [assistant_message("done")]]
    model = ScriptedModel([*steps, *([assistant_message("welcome")] for _ in range(3))])
    agent = sdk.Agent(name="reader", instructions="Be brief.", tools=[Read], model=model)
    session = opened("s1", ":memory:", budget_used_percent=50.0)

    async def main() -> None:
        for prompt in ("read it", "read it again", "thanks", "thanks", "bye"):
            await sdk.Runner.run(agent, prompt, session=session)

    asyncio.run(main())
    last = model.last_call.input
    outputs = [item["output"] for item in last if item.get("type") == "function_call_output"]
    assert [len(text) < 200 for text in outputs] == [True, True]
    assert last[-1] == {"role": "user", "content": "bye"}
    (stored,) = run(session.get_items(1_000))
    assert [item["output"] for item in stored if item.get("type") == "function_call_output"] == [FILE, FILE]
    assert len(stored) == 14
    session.close()
