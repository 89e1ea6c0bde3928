"""The order in which exchanges leave: by what they alone say, and no exchange that leaves at a larger budget stays at a smaller one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context.build_types import STRATEGIES
from popkit_retention.context.dialogue import Changes, Dialogue, Exchange, read
from popkit_retention.context.exchange_order import ExchangeOrder
from popkit_retention.context.history_cuts import reduced
from popkit_retention.context.meter import Meter
from popkit_retention.context.notices import Names
from popkit_retention.context.provider_forms import Provider
from tests.context.talking import EXCHANGES, Talk
from tests.examples import examples

CHATS = st.sampled_from((Provider.ANTHROPIC, Provider.OPENAI))
NAMES = st.lists(st.sampled_from(["src/basket.py", "src/till.py", "handleBasket", "coins.md", "v1.2"]), max_size=4)


def dialogue_of(talk: Talk) -> Dialogue:
    dialogue = read(talk.messages, talk.provider, Meter())
    assert dialogue is not None
    dialogue.count({})
    return dialogue


def saying(*answers: str) -> Dialogue:
    """Return a conversation with these answers."""
    talk = Talk()
    for answer in answers:
        talk.ask("And then?")
        talk.answer(answer)
    talk.ask("And now?")
    return dialogue_of(talk)


def queue_of(dialogue: Dialogue, size: int = 100) -> ExchangeOrder:
    """Return the exchanges of a history whose sizes are the same."""
    sizes = {exchange.start: size for exchange in dialogue.exchanges}
    return ExchangeOrder(dialogue.history, dialogue.exchanges, sizes, Names(dialogue, Changes()))


def order_of(dialogue: Dialogue) -> list[int]:
    """Return the numbers of exchanges in the order in which they leave."""
    queue, order = queue_of(dialogue), []
    while exchange := queue.next():
        queue.leave(exchange)
        order.append(dialogue.exchanges.index(exchange))
    return order


def test_an_exchange_that_says_nothing_of_its_own_leaves_first():
    assert order_of(saying("It is in src/basket.py.", "Good.", "It is in src/till.py."))[0] == 1


def test_of_two_that_say_the_same_the_older_leaves_first_and_the_other_last():
    both = "See src/basket.py, src/till.py."
    assert order_of(saying(both, "See src/coins.py.", both, "See src/offers.py.")) == [0, 1, 3, 2]


def test_of_exchanges_that_say_as_much_the_oldest_leaves_first():
    assert order_of(saying("See src/basket.py.", "See src/till.py.", "See src/coins.py.")) == [0, 1, 2]


def test_a_long_exchange_leaves_before_a_short_one_with_as_many_names():
    dialogue = saying("See src/basket.py.", "See src/till.py.")
    sizes = {exchange.start: 100 * (1 + number) ** 2 for number, exchange in enumerate(dialogue.exchanges)}
    queue = ExchangeOrder(dialogue.history, dialogue.exchanges, sizes, Names(dialogue, Changes()))
    assert queue.next() == dialogue.history[1]


@settings(max_examples=examples(30, 500), deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=8), st.data())
def test_each_exchange_comes_once_whether_or_not_it_leaves(said, data):
    dialogue = saying(*(" ".join(["It is so.", *names]) for names in said))
    queue = queue_of(dialogue)
    came: list[Exchange] = []
    while exchange := queue.next():
        came.append(exchange)
        if data.draw(st.booleans()):
            queue.leave(exchange)
    assert sorted(came) == dialogue.history


@settings(max_examples=examples(20, 500), deadline=None)
@given(EXCHANGES, CHATS)
def test_exchanges_that_leave_at_a_larger_budget_leave_at_a_smaller_one(exchanges, provider):
    talk = Talk(provider)
    talk.went_on(exchanges)
    dialogue = dialogue_of(talk)
    left = [reduced(dialogue, Changes(), strategy, None).left for strategy in STRATEGIES]
    assert all(looser <= tighter for looser, tighter in zip(left, left[1:]))
