"""What the tables of the policy say, with what records hold that are told no more than they must: `goldens/tables.txt`.

`--update-goldens` shows what a change of a row does.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core import policy
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import estimate, kind_rows, kinds, lost_cache, ruleset
from popkit_retention.core.policy.door import failures
from popkit_retention.core.policy.lost_cache import Interval, SentRequest
from popkit_retention.core.policy.models import Models
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from tests.policy.scenario import SHIPPED

GOLDENS = Path(__file__).with_name("goldens")


# These read what they are given, a tool.
READING = ("Arrival", "Use")


class Given:
    """A value of a record, known again by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


def records() -> list[type]:
    """The classes of the policy that keep what they are given as it is."""
    found = []
    for module in pkgutil.walk_packages(policy.__path__, policy.__name__ + "."):
        for name, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if one.__module__ == module.name and not name.startswith("_") and "__init__" in vars(one) and _keeps(one):
                found.append(one)
    return found


def _parameters(record: type) -> list[inspect.Parameter]:
    return list(inspect.signature(record).parameters.values())


def _keeps(record: type) -> bool:
    named = _parameters(record)
    if not named or record.__name__ in READING:
        return False
    try:
        made = record(*[Given(one.name) for one in named])
    except (TypeError, AttributeError):  # it reads what it is given
        return False
    return set(_attributes(made)).issuperset(one.name for one in named)


def _attributes(made: object) -> list[str]:
    return sorted(vars(made) if hasattr(made, "__dict__") else type(made).__slots__)


@pytest.mark.parametrize("record", records(), ids=lambda record: record.__name__)
def test_a_record_keeps_what_it_is_given(record: type) -> None:
    given = {one.name: Given(one.name) for one in _parameters(record)}
    kept = record(**given)
    assert {name: getattr(kept, name) for name in given} == given


PLAIN = (bool, int, float, str, tuple, list, dict)


def defaults() -> Iterator[str]:
    for record in records():
        needed = [Given(one.name) for one in _parameters(record) if one.default is inspect.Parameter.empty]
        made = record(*needed)
        values = [(name, getattr(made, name, None)) for name in _attributes(made) if name[0] != "_"]
        told = [f"{name}={value!r}" for name, value in values if value is None or isinstance(value, PLAIN)]
        yield " ".join([record.__module__.partition("policy.")[2], record.__name__, *told])


def every_kind() -> Iterator[str]:
    for kind in (*kinds.ALL, kinds.of("unheard-of")):
        yield " ".join(f"{name}={getattr(kind, name)!r}" for name in sorted(kind.__slots__))
    yield f"learnt {kinds.LEARNT}; of the archive {sorted(kinds.OF_THE_ARCHIVE)}"


def every_tier() -> Iterator[str]:
    for profile in ruleset.PROFILES:
        rules = Ruleset.from_config({}, TOOLS, profile)
        for tier in ruleset.TIERS:
            rule = rules.tier_rule(tier)
            yield f"{profile} {tier}: {rule.ttl_calls} calls, {rule.ttl_s} s, {' '.join(sorted(rule.events))}"
    for config in ({}, SHIPPED):
        rules = Ruleset.from_config(config, TOOLS)
        names = [name for name in vars(rules) if name[0] != "_" and name not in ("tools", "tool_tiers")]
        yield " ".join(f"{name}={getattr(rules, name)!r}" for name in sorted(names))


def settings() -> Iterator[str]:
    for name, value in vars(ruleset).items():
        if name.isupper() and name[0] != "_" and name != "TYPE_CHECKING":
            yield f"{name} {value}"


def contents() -> Iterator[str]:
    for name in sorted(estimate._MARKUP | estimate._LOGS | estimate._DIFFS):
        yield f"{name} {estimate.content_of_path(f'a.{name.upper()}')}"
    for content in estimate.CHARS_PER_TOKEN:
        yield f"{content} {estimate.tokens_of(1_000, 0, content)} {estimate.tokens_of(1_000, 500, content)}"
    yield f"{estimate.CALL_TOKENS} {estimate.RESULT_TOKENS} {estimate.IMAGE_TOKENS} {estimate.TOKENIZER}"
    yield " ".join(str(estimate.image_tokens(width, width)) for width in (1, 100, 1_000, 10_000))


def failing_words() -> Iterator[str]:
    for word in failures._WORDS:
        yield f"{word}: {failures.failures_in([f'step 1: {word} of it', 'all is well'], kinds.RUN)}"


def causes() -> Iterator[str]:
    """Why a request found no cache, for each event alone between it and the one before."""
    between = [name for name in Interval.__slots__ if not name.startswith("_") and name != "since"]
    for name in [*between, *(f"other {part}" for part in lost_cache.PARTS), *(f"same {part}" for part in lost_cache.PARTS), "all same"]:
        for pause in (60.0, 301.0, 4_000.0):
            events_between = Interval()
            if name in between:
                kind = type(getattr(events_between, name))
                setattr(events_between, name, {bool: True, str: "its detail", int: lost_cache.LOOK_BACK_POSITIONS + 1}[kind])
            elif name == "all same":
                events_between.note(set(), {*lost_cache.PARTS})
            else:
                word, part = name.split()
                events_between.note({part} if word == "other" else set(), {part} if word == "same" else set())
            before = SentRequest(Usage(20_000, 1_000.0, "claude-opus-4-5", 300))
            after = SentRequest(Usage(20_000, 1_000.0 + pause, "claude-opus-4-5", 300), between=events_between)
            yield f"{name} after {pause:.0f} s: {lost_cache.cause_of(before, after, 300.0, lambda at: at // 86_400)}"
    for model in (*lost_cache._DROP_THINKING, "claude-opus-4-5"):
        spoken = Interval()
        spoken.spoke = True
        request = SentRequest(Usage(1, 0.0, model, 300), between=spoken, thought=True)
        yield f"{model} drops its thinking: {lost_cache.drops_thinking(request)}"


TABLES = [defaults, every_kind, every_tier, settings, contents, failing_words, causes]


def test_the_tables_say_what_the_golden_says(golden) -> None:
    rows = [row for table in TABLES for row in (f"# {table.__name__}", *table())]
    golden(GOLDENS / "tables.txt", "".join(f"{row}\n" for row in rows))


@pytest.mark.parametrize(
    ("prompt", "read", "lost"), [(21_000, 20_000, 0), (21_000, 19_000, 0), (21_000, 18_999, 1_001), (9_000, 1_000, 8_000)]
)
def test_a_request_has_lost_what_it_wrote_again(prompt: int, read: int, lost: int) -> None:
    before = Usage(20_000, read=18_000, created=2_000)
    assert lost_cache.lost_tokens(before, Usage(prompt, read=read)) == lost


def test_what_cost_nothing_is_a_row_all_the_same() -> None:
    assert [row["usd"] for row in kind_rows.kind_rows({"system": 9, "prompt": 7}, {"system": 0.5})] == [0.5, 0.0]


def test_the_tools_of_a_server_are_parts_of_its_row() -> None:
    tokens = {"said": 5, "result mcp__db__ask": 5, "result mcp__db__tell": 7, "result Read": 5, "result mcp__": 1}
    usd = {"said": 2.0, "result mcp__db__ask": 1.5, "result mcp__db__tell": 2.5, "result Read": 3.0}
    server, read, said, other = kind_rows.kind_rows(tokens, usd, {"mcp__db__ask": [2, 9.0], "mcp__db__tell": [1, 8.0], "Read": [3, 7.0]})
    assert [(row["kind"], row["name"], row["usd"]) for row in server["parts"]] == [
        ("result", "mcp__db__tell", 2.5),
        ("result", "mcp__db__ask", 1.5),
    ]
    assert {**server, "parts": ()} == {"kind": "server", "name": "db", "parts": (), "tokens": 12, "usd": 4.0, "used": [3, 9.0]}
    assert read == {"kind": "result", "name": "Read", "tokens": 5, "parts": [], "usd": 3.0, "used": [3, 7.0]}
    assert said == {"kind": "said", "name": "", "tokens": 5, "parts": [], "usd": 2.0, "used": None}
    assert (other["name"], other["usd"], other["used"]) == ("mcp__", 0.0, [0, 0.0])
    bare = kind_rows.kind_rows(tokens)
    assert [(row["name"], row["tokens"], len(row)) for row in bare] == [("db", 12, 4), ("", 5, 4), ("Read", 5, 4), ("mcp__", 1, 4)]


LOST = [
    Usage(50_000, 1_000.0, "claude-opus-4-5", 300, 0, 50_000),
    Usage(52_000, 1_301.0, "claude-opus-4-5", 300, 20_000, 32_000),  # later than the cache lives
    Usage(53_000, 1_400.0, "claude-opus-4-5", 3_600, 52_000, 1_000),
    Usage(54_000, 3_000.0, "claude-opus-4-5", 300, 53_000, 0),
    Usage(55_000, 6_599.0, "claude-opus-4-5", 300, 50_000, 2_000),  # it reads what lives for an hour
]


def test_the_losses_of_a_conversation_are_of_requests_that_read_less_than_was_there() -> None:
    found = lost_cache.losses([SentRequest(usage) for usage in LOST], lambda at: 1, Models({}))
    assert [(loss.cause, loss.tokens, loss.written, loss.pause_s, loss.spoke) for loss in found] == [
        (lost_cache.PAUSE, 30_000, 30_000, 301.0, False),
        (lost_cache.EARLY, 3_000, 2_000, 3_599.0, False),
    ]


def test_a_loss_costs_what_is_written_and_sent_beyond_a_read() -> None:
    models = Models({"m": {"input": 5.0, "output": 25.0}})
    known = models.model("m")
    expected = (800 * known.write_5m + 200 - 1_000 * known.read) * 5.0 / 1e6
    assert lost_cache.usd(models, "m", 9_000, 1_000, 800, 300) == pytest.approx(expected)


def test_a_model_that_nobody_knows_has_no_price() -> None:
    assert lost_cache.usd(Models({}), "unheard-of", 1, 1, 1, 300) is None
