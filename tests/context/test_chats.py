"""Chats without tools: which exchanges leave, that what was sent stays, and that every figure is what was sent."""

from __future__ import annotations

import random
from contextlib import nullcontext

import pytest

from popkit_retention.context import ContextResult, Provider, Sources, apply_pruning, build_context, get_pruning_strategy
from popkit_retention.context.requests import Caller, Request
from popkit_retention.context.service import ContextService
from popkit_retention.context.usage_log import snapshot_of
from tests.client.provider import faults
from tests.context.clients.callers import Ledger
from tests.context.talking import UNBOUND, Talk, openai_faults, reading

BOTH = pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])
WORDS = "report invoice deadline budget meeting draft summary review chapter market plan customer offer letter table".split()


def chat(exchanges: int, provider: Provider = Provider.ANTHROPIC, **added: str) -> Talk:
    """A chat whose exchanges are about as long, each with a topic of its own, and a request behind them. `added`: more in the exchange
    `at_N`."""
    talk, drawn = Talk(provider, UNBOUND), random.Random(exchanges)
    for n in range(exchanges):
        talk.ask(f"What about topic_{n:03}_of_the_plan? " + " ".join(drawn.choices(WORDS, k=30)))
        talk.answer(" ".join(drawn.choices(WORDS, k=80)) + added.get(f"at_{n}", ""))
    talk.ask("And now?")
    return talk


def sent(talk: Talk, messages: list) -> list[int]:
    """The topics of the requests of the history that are sent, by what the caller's own messages say."""
    own = {text.partition("?")[0] for message in messages[:-1] if message["role"] == "user" for text in texts(message["content"])}
    return [n for n in range(len(talk.messages) // 2) if f"What about topic_{n:03}_of_the_plan" in own]


def texts(content: str | list) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]


@BOTH
@pytest.mark.parametrize(("used", "least", "most"), [(40.0, 0.5, 0.7), (60.0, 0.35, 0.6), (80.0, 0.25, 0.4)])
def test_a_chat_of_401_messages_shrinks_and_every_figure_says_what_was_sent(provider, used, least, most):
    talk = chat(200, provider)
    result = talk.build(used)
    assert least <= result.total_tokens / result.full_tokens <= most
    stays = len(sent(talk, result.messages))
    assert len(result.messages) == 2 * stays + 1
    assert result.pruning_strategy.tier4_messages == result.tier_breakdown.tier4.items == stays
    snapshot = snapshot_of(result, "s1", "dana", 0.0, "m", "", "")
    assert snapshot.pruning_strategy["tier4Messages"] == snapshot.tier_breakdown["tier4"]["items"] == stays
    assert (faults if provider is Provider.ANTHROPIC else openai_faults)(result.messages) == []


def test_above_80_percent_a_chat_is_sent_whole_and_the_result_says_so():
    result = chat(30).build(10.0)
    assert len(result.messages) == 61
    assert result.pruning_strategy.tier4_messages == result.tier_breakdown.tier4.items == 30
    assert result.total_tokens == result.full_tokens


@pytest.mark.parametrize(("used", "newest"), [(30.0, 5), (50.0, 2)])
def test_the_newest_exchanges_stay_as_many_as_the_strategy_names(used, newest):
    for exchanges in (newest, newest + 1, 12, 40):
        talk = chat(exchanges)
        stays = sent(talk, talk.build(used).messages)
        assert stays[-newest:] == list(range(exchanges))[-newest:]
        assert exchanges > newest or len(stays) == exchanges


@pytest.mark.parametrize("used", [30.0, 50.0, 80.0])
def test_an_exchange_whose_names_are_repeated_leaves_and_else_the_oldest(used):
    stays = sent(talk := chat(40, at_39=" as in topic_003_of_the_plan and topic_032_of_the_plan"), talk.build(used).messages)
    assert not {3, 32} & set(stays)
    others = set(range(40)) - set(stays) - {32}
    assert max(others) - min(stays) <= 3, "those of about the same age may be longer"
    assert 1 < len(others) < 35


def test_an_exchange_with_names_of_its_own_stays_and_a_long_one_leaves():
    named = " It is in src/shop/basket.py, src/shop/till.py, src/shop/coins.py and src/shop/offers.py."
    talk = chat(40, at_2=named, at_35=" " + " ".join(WORDS * 20))
    stays = sent(talk, talk.build(80.0).messages)
    assert {2, 34, 36} <= set(stays)
    assert 35 not in stays


def test_what_left_is_mentioned_by_its_request_and_its_names_short_ones_too():
    named = " It is in src/shop/basket.py, says handleBasketOfTheShop. "
    long = " " + " ".join(WORDS * 60)
    added = {"at_1": " Take v1.2, a.py and coins.md.", "at_2": named, "at_3": " See .npmrc, ./till, <TillPage>: first/last."}
    result = chat(40, **{at: text + long for at, text in added.items()}).build(50.0)
    remains = result.messages[-1]["content"][0]["text"]
    assert remains.startswith("PopKit left out what was said before.")
    assert "- What about topic_002_of_the_plan?" in remains
    for name in ("v1.2", "a.py", "coins.md", "src/shop/basket.py", "handleBasketOfTheShop", ".npmrc", "./till", "TillPage"):
        assert name in remains
    assert "first/last" not in remains


def grown(provider: Provider, used: float, exchanges: int = 80) -> tuple[list[int], ContextResult]:
    """Build a chat that grows to 80 exchanges at each request, and check that a build keeps what was sent, but for cuts. Return the numbers
    of the requests that cut, and the last build."""
    talk, cuts, drawn = chat(0, provider), [], random.Random(7)
    before: list = []
    left: set[int] = set()
    for n in range(exchanges):
        talk.messages[-1] = {"role": "user", "content": f"What about topic_{n:03}_of_the_plan? " + " ".join(drawn.choices(WORDS, k=30))}
        result = talk.build(used)
        out = set(range(n)) - set(sent(talk, result.messages))
        assert left <= out
        if result.messages[: len(before)] != before:
            cuts.append(n)
            assert not result.appended
        else:
            assert out == left
        before, left = result.messages, out
        talk.answer(" ".join(drawn.choices(WORDS, k=80)))
        talk.ask("")
    return cuts, result


@BOTH
@pytest.mark.parametrize("used", [30.0, 50.0])
def test_what_left_stays_out_and_what_was_sent_stays_to_the_byte_until_the_next_cut(provider, used):
    cuts, result = grown(provider, used)
    assert 3 <= len(cuts) <= 12
    gaps = [after - at for at, after in zip(cuts, cuts[1:])]
    assert gaps == sorted(gaps), "the longer the chat, the more requests go between two cuts"
    assert result.total_tokens < 0.75 * result.full_tokens


@BOTH
def test_below_40_percent_cuts_are_more_frequent_and_become_seldom_too(provider):
    cuts, result = grown(provider, 80.0, 90)  # at 80 the next cut is due
    gaps = [after - at for at, after in zip(cuts, cuts[1:])]
    assert len(gaps) < 20
    assert sum(gaps[-5:]) > 3 * sum(gaps[:5])
    assert result.total_tokens < 0.5 * result.full_tokens


def test_in_a_session_with_tools_an_exchange_leaves_with_its_calls_and_results():
    """One whose result is needed stays."""
    talk = Talk(model=UNBOUND)
    for n in range(20):
        talk.work(f"What about topic_{n:03}_of_the_plan? " + "Tell me all. " * 60, ("Bash", {"command": f"echo {n}"}, "done"))
    talk.work("What about topic_020_of_the_plan?", reading("/p/needed.py", 40, 3))
    for n in range(21, 30):
        talk.ask(f"What about topic_{n:03}_of_the_plan? " + "Tell me all. " * 60)
        talk.answer("As in handler_/_3_7, so.")
    talk.ask("And now?")
    talk.state = None
    result = talk.build(30.0)
    stays = sent(talk, result.messages)
    assert 0 not in stays
    assert 20 in stays
    assert faults(result.messages) == []


def test_a_context_that_is_pruned_says_what_is_sent_then():
    talk = chat(40)
    context = talk.build(0.0)
    for remaining in (90, 70, 50, 10):
        context = apply_pruning(context, get_pruning_strategy(remaining))
        assert context.pruning_strategy.tier4_messages == context.tier_breakdown.tier4.items == len(sent(talk, context.messages))
    assert context.pruning_strategy.tier4_messages == 0


def test_below_40_percent_calls_count_too_so_tool_sessions_keep_little_history():
    talk = Talk(model=UNBOUND)
    steps = [[("Bash", {"command": f"echo part {n} of the whole plan, step {k}"}, "done " * 30) for k in range(6)] for n in range(20)]
    talk.went_on((f"What about topic_{n:03}_of_the_plan?", [([call], False, "") for call in calls]) for n, calls in enumerate(steps))
    result = talk.build(80.0)
    assert result.tier_breakdown.tier4.tokens < 0.1 * result.full_tokens
    assert faults(result.messages) == []


def test_the_service_keeps_the_cuts_of_a_chat_that_grows():
    ledger = Ledger()
    ledger.percent = 50.0
    service = ContextService(build_context, lambda project: nullcontext(Sources()), ledger)
    messages = chat(30).messages
    first = service.build(Caller("dana", "s1"), Request(Provider.ANTHROPIC, UNBOUND, messages))
    again = [*messages, {"role": "assistant", "content": "Now this."}, {"role": "user", "content": "Good."}]
    second = service.build(Caller("dana", "s1"), Request(Provider.ANTHROPIC, UNBOUND, again))
    assert second[: len(first)] == first
    assert len(first) < len(messages)
