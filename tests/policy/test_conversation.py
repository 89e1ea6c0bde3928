"""The fold of a conversation, worked out by hand: how large the prompt is, where results stand in it, what the model has not seen, what was
thought behind a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import events
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN, RESULT_TOKENS
from popkit_retention.core.policy.events import Call
from popkit_retention.core.policy.host_compaction import FILE_TOKENS
from popkit_retention.core.policy.placeholder import gain
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from tests.policy.conversing import HISTORIES, LONG, Conversing, played
from tests.policy.scenario import SHIPPED


class Driver:
    """A conversation that is told of requests and results of given sizes."""

    def __init__(self) -> None:
        self.conversation = Conversation(ContextState("s"), lambda profile: Ruleset.from_config(SHIPPED, TOOLS, profile or "spec"))
        self.at = 1_000.0

    def result(self, id: str, tokens: int) -> None:
        outcome = outcomes.outcome_of_text(TOOLS.of("mcp__a__b"), {"of": id}, id.ljust(round(CHARS_PER_TOKEN["markup"] * tokens), "x"))
        self.at += 1
        self.conversation.observe(Call(id, TOOLS.of("mcp__a__b"), {"of": id}, outcome, self.at, "/p", "turn 1"))
        assert self.conversation.state.live[id].tokens == tokens

    def sent(self, tokens: int, model: str = "m", **how) -> Usage:
        usage = Usage(tokens, self.at, model, **how)
        self.conversation.sent(usage)
        return usage

    def compact(self, *kept: str) -> None:
        self.conversation.observe(events.Compacted(self.at, kept))

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        return {id: (place.prefix, place.request) for id, place in self.conversation.places.items()}


@pytest.fixture
def driver() -> Driver:
    return Driver()


def two_results(driver: Driver) -> Conversation:
    """The user says 50 tokens; system and tools have 20,000; each answer says 10 and calls for a result, of 400 tokens and of 600, and
    20 hold it."""
    driver.conversation.add_text(50)
    driver.sent(20_050)
    driver.conversation.add_text(10)
    driver.result("a", 400)
    driver.sent(20_480)
    driver.conversation.add_text(10)
    driver.result("b", 600)
    return driver.conversation


def test_what_is_written_down_again_counts_before_any_request(driver: Driver):
    driver.conversation.carry_again(500)
    assert driver.conversation.prompt == 500


def test_what_the_first_request_holds_beyond_what_was_said_is_system_and_tools(driver):
    assert two_results(driver).base == 20_000
    assert Driver().conversation.base == 0


def test_where_nothing_was_measured_estimates_stand_as_they_are(driver):
    assert driver.conversation.scaled == 1.0
    assert two_results(driver).scaled == 1.0


def test_the_prompt_is_the_last_request_and_what_came_since(driver):
    assert driver.conversation.prompt == 0
    assert two_results(driver).prompt == 20_480 + 630
    driver.conversation.state.calibration = 1.5
    assert driver.conversation.prompt == 20_480 + 945
    driver.sent(21_200)
    assert driver.conversation.prompt == 21_200, "as it was measured"


def test_a_result_comes_after_the_request_that_called_for_it(driver):
    two_results(driver)
    assert driver.places == {"a": (20_050, 1), "b": (20_480, 2)}
    assert [driver.conversation.requests_behind(id) for id in "ab"] == [1, 0]
    for tokens in (21_110, 21_130, 21_200):
        driver.sent(tokens)
    assert [driver.conversation.requests_behind(id) for id in "ab"] == [4, 3]
    assert driver.places == {"a": (20_050, 1), "b": (20_480, 2)}


def test_what_no_request_has_sent_the_model_has_not_seen(driver):
    conversation = two_results(driver)
    assert (conversation.unseen, conversation.unsent) == ({"b"}, 630)
    assert [conversation.is_seen(id) for id in ("a", "b", "unknown")] == [True, False, False]
    driver.sent(21_110)
    assert (conversation.unseen, conversation.unsent) == (set(), 0)
    assert conversation.is_seen("b")


def test_a_result_that_leaves_moves_later_ones_forward_and_comes_back_to_its_place(driver):
    conversation = two_results(driver)
    driver.sent(21_110)
    driver.result("c", 500)
    before = driver.places
    gone = gain(conversation.state.live["a"], 1.0, conversation.rules)
    conversation.left({"a"})
    assert driver.places == {"a": (20_050, 1), "b": (20_480 - gone, 2), "c": (21_110 - gone, 3)}
    conversation.left({"b"})
    both = gone + gain(conversation.state.live["b"], 1.0, conversation.rules)
    assert driver.places["c"] == (21_110 - both, 3)
    conversation.returned({"b"})
    conversation.returned({"a"})
    assert driver.places == before


def test_what_came_when_it_had_left_already_stays_where_it_was_measured(driver):
    conversation = two_results(driver)
    came = conversation.state.live["b"].at
    conversation.left({"a"}, before=came)
    assert driver.places["b"] == (20_480, 2)
    conversation.left({"a"}, before=came + 1)
    assert driver.places["b"][0] < 20_480


def test_no_result_is_placed_before_the_beginning(driver):
    driver.sent(100)
    driver.result("a", 4_000)
    driver.sent(120)  # it shrank by other means
    driver.result("b", 400)
    driver.conversation.left({"a"})
    assert driver.places["b"] == (0, 2)


def test_a_compaction_leaves_system_and_tools_and_what_was_carried_over(driver):
    conversation = two_results(driver)
    driver.sent(21_110)
    conversation.add_text(0, 700)
    driver.compact("b")
    assert driver.places == {"b": (20_000, 3)}
    assert (conversation.last.tokens, conversation.unsent, conversation.unseen) == (0, 0, set())
    assert conversation.newest.tokens == 21_110, "the model and the lifetime are still those"
    assert not conversation.last.is_warm(driver.at)
    assert conversation.prompt == 20_000
    assert conversation.thinking_behind("b") == 0
    conversation.add_text(300)
    driver.sent(20_300)
    driver.result("c", 400)
    assert (driver.places["c"], conversation.requests_behind("b"), conversation.base) == ((20_300, 4), 1, 20_000)


def growing(driver: Driver, factor: float, pairs: int, tokens: int = 1_000, model: str = "m") -> float:
    """The calibration after so many requests that grew by `factor` for every token that was estimated."""
    prompt = 20_000
    driver.sent(prompt, model)
    for number in range(pairs):
        driver.result(f"r{number}", tokens)
        prompt += round((tokens + RESULT_TOKENS) * factor)
        driver.sent(prompt, model)
    return driver.conversation.state.calibration


@pytest.mark.parametrize(("model", "tokens"), [("claude-opus-4-6", 0.87), ("claude-haiku-4-5-20251001", 0.87), ("gpt-5.5", 0.71),
                                               ("claude-opus-5", 1.0), ("claude-opus-4-7", 1.0), ("claude-later-9", 1.0)])  # fmt: skip
def test_the_first_request_tells_how_its_model_counts(driver, model, tokens):
    driver.sent(20_000, model)
    assert driver.conversation.state.calibration == tokens


@pytest.mark.parametrize("factor", [0.75, 0.9, 1.2, 1.5])
@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-opus-5"])
def test_the_more_requests_tell_how_a_session_counts_the_more_they_are_believed(factor, model):
    few, more, many = (growing(Driver(), factor, pairs, model=model) for pairs in (5, 20, 200))
    assert abs(few - factor) > abs(more - factor) > abs(many - factor)
    assert many == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize(("factor", "most"), [(2.4, 1.7), (0.45, 0.6)])
def test_no_session_leads_further_from_what_is_known_than_this(driver, factor, most):
    assert growing(driver, factor, 300) == most


def test_another_model_is_measured_anew(driver):
    assert growing(driver, 1.3, 50) > 1.2
    driver.sent(90_000, "claude-opus-4-6")
    assert driver.conversation.state.calibration == 0.87
    driver.sent(99_000)
    assert driver.conversation.state.calibration == 1.0, "and what was measured before the first change is gone"


def test_too_few_requests_or_too_little_growth_calibrate_nothing():
    """Nor does growth that was not written down as such."""
    assert growing(Driver(), 1.4, 4) == 1.0, "four pairs of requests"
    assert growing(Driver(), 1.4, 9, 270) == 1.0, "so small a growth tells too little"
    assert growing(Driver(), 2.6, 9) == 1.0, "an attachment"
    assert growing(Driver(), 0.3, 9) == 1.0, "something has left"
    assert growing(Driver(), -1.0, 9) == 1.0, "a compaction"


def test_what_was_thought_is_in_the_prompt(driver):
    driver.sent(20_000)
    driver.conversation.add_text(10, 300)
    assert driver.conversation.prompt == 20_310


def test_a_request_that_wrote_nothing_does_not_tell_the_lifetime(driver):
    driver.sent(20_000, cache_ttl_s=3_600, created=20_000)
    read = driver.sent(20_000, cache_ttl_s=300, read=20_000)
    assert read.cache_ttl_s == 3_600
    assert driver.conversation.last.is_warm(driver.at + 3_599)
    driver.compact()
    assert driver.sent(21_000, cache_ttl_s=300).cache_ttl_s == 3_600, "nor after a compaction"
    assert driver.sent(21_000, cache_ttl_s=3_600, created=500).cache_ttl_s == 3_600


def test_the_cache_is_warm_from_when_it_was_last_in_use(driver):
    usage = driver.sent(20_000)
    assert (usage.at, usage.until) == (driver.at, driver.at)
    assert [usage.is_warm(driver.at + seconds) for seconds in (0, 299, 300)] == [True, True, False]
    driver.conversation.went_on(driver.at + 200)
    driver.conversation.went_on(driver.at + 100)
    assert (usage.at, usage.until) == (driver.at, driver.at + 200)
    assert [usage.is_warm(driver.at + seconds) for seconds in (499, 500)] == [True, False]
    assert not Usage(0, driver.at).is_warm(driver.at)


def thoughtful(driver: Driver) -> Conversation:
    """Before each of three calls it is thought: 100 tokens, 40 and 7."""
    for number, (id, tokens) in enumerate({"a": 100, "b": 40, "c": 7}.items()):
        driver.sent(20_000 + number * 500)
        driver.conversation.add_text(10, tokens)
        driver.result(id, 400)
    return driver.conversation


def test_thinking_of_later_answers_comes_after_a_result(driver):
    conversation = thoughtful(driver)
    assert [conversation.thinking_behind(id) for id in "abc"] == [47, 7, 0]
    driver.sent(22_000)
    conversation.add_text(0, 1_000)
    assert [conversation.thinking_behind(id) for id in "abc"] == [1_047, 1_007, 1_000]


def test_what_was_thought_behind_a_place_can_leave(driver):
    conversation = thoughtful(driver)
    conversation.drop_thinking("b")
    assert [conversation.thinking_behind(id) for id in "abc"] == [40, 0, 0]
    conversation.drop_thinking("of a branch that was left")
    driver.sent(22_000)
    conversation.add_text(0, 1_000)
    assert [conversation.thinking_behind(id) for id in "abc"] == [1_040, 1_000, 1_000]


def test_the_rules_are_those_of_the_profile_that_was_chosen_last(driver):
    assert not driver.conversation.rules.weighs
    driver.conversation.observe(events.ProfileChosen("auto", driver.at))
    assert driver.conversation.rules.weighs
    driver.conversation.observe(events.ProfileChosen(None, driver.at))
    assert not driver.conversation.rules.weighs


@given(HISTORIES, st.integers(0, 5), st.data())
def test_whatever_happens_places_are_in_order_and_within_the_prompt(history, unseen, data):
    conversation = played(history, unseen=unseen).conversation
    leaves = [result.id for result in conversation.results() if gain(result, 1.0, conversation.rules) > 0]
    left = data.draw(st.sets(st.sampled_from([*leaves, "T0"])))
    conversation.left(left)
    if data.draw(st.booleans()):
        conversation.returned(left)
    results = [result for result in conversation.results() if result.id in conversation.places]
    places = [conversation.places[result.id] for result in results]
    assert [result.index for result in results] == sorted(result.index for result in results)
    assert [place.request for place in places] == sorted(place.request for place in places)
    assert all(0 <= place.request <= conversation.count and place.prefix >= 0 for place in places)
    thinking = [conversation.thinking_behind(result.id) for result in results]
    assert thinking == sorted(thinking, reverse=True)
    assert conversation.unseen <= set(conversation.places)
    assert conversation.prompt >= conversation.last.tokens


def test_the_host_would_put_back_the_five_last_touched_files_each_up_to_a_bound():
    session = Conversing()
    for number in range(7):
        session.read(f"/p/f{number}.py", text=LONG[: 100 * (number + 1)])
    last = session.conversation.last.files
    sizes = [result.tokens for result in session.conversation.results()]
    assert last == sum(sizes[2:]) < sum(sizes)
    session.edit("/p/f0.py")
    assert session.conversation.last.files == sum(sizes[3:]) + sizes[0]
    session.read("/p/large.py", text=LONG * 100)
    assert session.conversation.last.files == sum(sizes[4:]) + sizes[0] + FILE_TOKENS


def grown(driver: Driver, factor: float, added: int, pairs: int) -> Conversation:
    """So many requests, each of which has grown by this multiple of what was estimated."""
    driver.sent(20_000)
    for _ in range(pairs):
        driver.conversation.add_text(added)
        driver.sent(driver.conversation.last.tokens + round(factor * added))
    return driver.conversation


@pytest.mark.parametrize(
    ("factor", "added", "pairs", "calibration"),
    [
        (1.2, 2_000, 4, 1.0),
        (1.2, 2_000, 5, 1.133),  # (12,000 + 5,000) / (10,000 + 5,000)
        (1.2, 2_000, 10, 1.16),
        (1.2, 299, 9, 1.0),
        (1.2, 300, 9, 1.07),
        (0.4, 9_000, 9, 0.6),
        (0.39, 9_000, 9, 1.0),
        (2.5, 9_000, 9, 1.7),
        (2.51, 9_000, 9, 1.0),
    ],
)
def test_the_growth_of_a_models_requests_corrects_the_estimate(driver: Driver, factor, added, pairs, calibration) -> None:
    conversation = grown(driver, factor, added, pairs)
    assert conversation.state.calibration == calibration
    assert conversation.scaled == calibration


def test_each_model_counts_tokens_as_it_did_at_the_time() -> None:
    config = {**SHIPPED, "models": {"by_id": {"a": {"tokens": 1.0}, "b": {"tokens": 1.5}}}}
    conversation = Conversation(ContextState("s"), lambda profile: Ruleset.from_config(config, TOOLS, profile))
    assert conversation.as_counted(100, 5.0) == 100
    for at, model in ((10.0, "b"), (20.0, "a"), (25.0, "a"), (30.0, "b")):
        conversation.sent(Usage(20_000, at, model))
    assert [conversation.as_counted(100, at) for at in (5.0, 10.0, 19.0, 20.0, 25.0, 29.0, 30.0)] == [150, 150, 150, 100, 100, 100, 150]
    conversation.answered(Usage(9_000, 40.0, "a"))
    assert conversation.as_counted(100, 40.0) == 100
    assert conversation.as_counted(100, 39.0) == 150


def test_without_a_request_nothing_is_known(driver: Driver) -> None:
    conversation = driver.conversation
    assert (conversation.largest, conversation.stands, conversation.prompt, conversation.scaled, conversation.thinking) == (0, 0, 0, 1.0, 0)
    assert not conversation.is_measured


@pytest.mark.parametrize(("is_row", "put_back"), [(True, False), (False, True)])
def test_what_is_written_down_again_is_carried_beside_the_files(driver: Driver, is_row: bool, put_back: bool) -> None:
    conversation = two_results(driver)
    conversation._files["/p/a.py"] = 400
    driver.compact()
    conversation.put_back_files()
    files = conversation._back
    assert files > 0
    assert conversation.prompt == conversation.base + files
    conversation.carry_again(3_000, 200, is_row)
    assert conversation.prompt == conversation.base + 3_000 + files * put_back
    assert conversation.inputs == 200
    conversation.carry_again(1_000, is_row=False)
    assert conversation.prompt == conversation.base + 4_000 + files * put_back
    conversation.carry(9_000, is_all=False)
    assert conversation.prompt == conversation.base + 9_000
    conversation.carry(100)
    assert conversation.prompt == conversation.base + 100
    conversation.carry(-1)
    assert conversation.prompt == conversation.base
