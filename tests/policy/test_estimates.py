"""How many tokens a result is taken to be: characters per token by kind of content, in the tokens of today's Claude models."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.context import state_of
from popkit_retention.core.policy.estimate import estimate_tokens, image_tokens, tokens_of
from tests.policy.scenario import Scenario

CHARS = 60_000

# (what prints a text, characters per token)
RESULTS = [
    ("cat a.py", 2.2),
    ("cat a.ts", 2.2),
    ("sed -n '1,900p' a.py", 2.2),
    ("cat README.md", 2.55),
    ("cat package.json", 2.55),
    ("git diff", 2.35),
    ("git show HEAD", 2.35),
    ("cat fix.patch", 2.35),
    ("rg login", 2.1),
    ("grep -rn login .", 2.1),
    ("npm test", 2.2),
    ("ls -R", 2.2),
    ("find . -name x", 2.2),
    ("cat app.log", 2.2),
    ("docker logs app", 2.2),
]


@pytest.mark.parametrize(("command", "chars_per_token"), RESULTS)
def test_a_result_is_estimated_by_what_it_holds(session: Scenario, command, chars_per_token):
    session.bash(command, "x" * CHARS)
    assert session.result("T1").tokens == round(CHARS / chars_per_token)


def test_what_an_agent_says_is_dialogue(session: Scenario):
    session.call("Agent", {"prompt": "look"}, "x" * CHARS)
    assert session.result("T1").tokens == round(CHARS / 2.7)


def test_a_read_is_estimated_with_the_line_numbers_that_the_model_sees(session: Scenario):
    session.read("a.py", text="\n".join(["x" * 99] * 100))
    assert 9_999 / 2.2 < session.result("T1").tokens <= 10_600 / 2.2


def test_wide_characters_cost_more_than_a_token_each(session: Scenario):
    session.bash("python main.py", "漢" * 9_000)
    assert session.result("T1").tokens == 10_000
    assert estimate_tokens("漢字かな", "code") == round(4 / 0.9)
    assert tokens_of(100, 50, "code") == round(50 / 2.2 + 50 / 0.9)


def test_nothing_is_no_token_and_anything_at_least_one():
    assert estimate_tokens("") == 0
    assert estimate_tokens("x") == 1
    session = Scenario()
    session.bash("true", "")
    assert session.result("T1").tokens == 0


def test_an_image_costs_by_its_pixels_up_to_a_cap():
    assert image_tokens(750, 100) == 100
    assert image_tokens(10_000, 10_000) == image_tokens(0, 0) == 1_600
    assert image_tokens(1, 1) == 1


def test_a_state_that_was_estimated_in_another_way_goes_on_so_until_it_is_rebuilt(session: Scenario):
    session.bash("cat a.py", "x" * CHARS)
    stored = session.state.to_json()
    del stored["unit"]  # as its calibration makes 30,000 tokens of 20,000, it does so of all that come
    stored["calibration"], stored["live"][0][11] = 1.5, 20_000
    session.state = state_of(stored)
    for name in "bc":
        session.save_and_load()
        session.bash(f"cat {name}.py", name * CHARS)
    shown = [round(result.tokens * session.state.calibration) for result in session.state.live.values()]
    assert shown == pytest.approx([30_000, CHARS / 2.2, CHARS / 2.2], rel=0.001)
