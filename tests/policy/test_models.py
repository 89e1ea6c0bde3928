"""What is known of a model: the table that is shipped, ids as hosts and providers write them, and caution where it says nothing."""

import json
import pathlib

import pytest

from hooks.utils.policy.economics import Model, models_of

ROOT = pathlib.Path(__file__).parents[2]
SHIPPED = models_of(json.loads((ROOT / "retention-config.json").read_text())["retention"])


def prices(id):
    model = SHIPPED.model(id)
    return model.read, model.input_usd, model.output_usd, model.window, model.thinking_bound


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("claude-fable-5-2", (0.025, 8, 40, 1_000_000, True)),
        ("claude-fable-5-1", (0.025, 10, 50, 1_000_000, True)),
        ("claude-mythos-1", (0.025, None, None, 1_000_000, True)),
        ("claude-opus-5-5", (0.05, 4, 20, 1_000_000, True)),
        ("claude-sonnet-5-5", (0.05, 2, 10, 1_000_000, True)),
        ("claude-haiku-5-5", (0.1, 0.1, 0.5, 1_000_000, True)),
        ("claude-opus-5", (0.1, 5, 25, 1_000_000, False)),
        ("claude-opus-4-6", (0.1, 5, 25, 1_000_000, False)),
        ("claude-sonnet-4-5", (0.1, 3, 15, 1_000_000, False)),
        ("claude-haiku-4-5", (0.1, 1, 5, 200_000, False)),
    ],
)
def test_the_shipped_table_says_what_the_provider_charges_and_checks(id, expected):
    assert SHIPPED.model(id).known
    assert prices(id) == expected


def test_the_shipped_table_is_dated():
    assert SHIPPED.dated == "2026-11"


@pytest.mark.parametrize(
    "id",
    [
        "claude-opus-4-5-20251101",
        "claude-opus-4-5[1m]",
        "claude-opus-4-5-20251101[1m]",
        "claude-opus-4-5@20251101",
        "claude-opus-4-5-latest",
        "claude-opus-4-5-v1:0",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "global.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic/claude-opus-4.5",
        "Claude-Opus-4-5",
    ],
)
def test_a_model_is_known_however_its_provider_writes_it(id):
    assert SHIPPED.model(id).known
    assert prices(id) == prices("claude-opus-4-5")
    assert SHIPPED.model(id).id == id


@pytest.mark.parametrize(
    "id",
    [
        "claude-opus-5-7",
        "claude-opus-6",
        "claude-opus-50",
        "claude-haiku-5-5-mini",
        "claude-opus-5-fast",
        "opus",
        "gemini-5",
        "",
        "<synthetic>",
    ],
)
def test_a_model_that_the_table_does_not_name_is_the_most_cautious_case(id):
    model = SHIPPED.model(id)
    assert not model.known
    assert (model.read, model.write_5m, model.write_1h, model.thinking_bound) == (0.025, 1.25, 2.0, True)
    assert (model.input_usd, model.output_usd, model.output_units, model.usd(10**6)) == (None, None, 5.0, (None, None))


def test_of_two_ids_that_fit_the_longer_one_counts():
    models = models_of({"models": {"by_id": {"claude-*": {"read": 0.5}, "claude-opus-5": {"read": 0.4}, "claude-opus-5-5": {"read": 0.3}}}})
    assert [models.model(id).read for id in ("claude-opus-5-5-20261001", "claude-opus-5", "claude-opus-9")] == [0.3, 0.4, 0.5]


def test_the_mark_of_the_long_window_beats_the_table():
    assert SHIPPED.model("claude-haiku-4-5").window == 200_000
    assert SHIPPED.model("claude-haiku-4-5[1m]").window == 1_000_000


def test_what_is_written_costs_by_the_lifetime():
    model = SHIPPED.model("claude-opus-5-5")
    assert [model.write_price(ttl) for ttl in (300, 3_599, 3_600)] == [1.25, 1.25, 2.0]


def test_an_answer_costs_five_times_the_prompt_where_both_prices_are_known():
    assert SHIPPED.model("claude-fable-5-2").output_units == 5.0
    assert Model("x", {"input": 2, "output": 20}).output_units == 10.0
    assert Model("x", {"input": 0, "output": 20}).output_units == 5.0


def test_a_long_prompt_has_a_price_of_its_own():
    model = SHIPPED.model("claude-haiku-5-5")
    assert model.usd(100_000) == (0.1, 0.5)
    assert model.usd(100_001) == (0.5, 2.5)
    assert SHIPPED.model("claude-opus-5-5").usd(900_000) == (4, 20)


@pytest.mark.parametrize(
    "table", [None, [], {"by_id": 3}, {"by_id": {"claude-opus-5": 3}, "dated": 4}, {"by_id": {"claude-opus-5": {"read": "x"}}}]
)
def test_a_table_that_makes_no_sense_leaves_the_most_cautious_case(table):
    model = models_of({"models": table}).model("claude-opus-5")
    assert (model.read, model.thinking_bound) == (0.025, True)
