"""Context size, window, cache warmth and calibration come from the usage that the host writes down."""

from __future__ import annotations

import pytest

from hooks.utils.hosts import claude_code
from hooks.utils.hosts.claude_code import usage

from .lines import Lines


def test_the_newest_answer_of_the_main_chain_tells_the_size(tmp_path):
    lines = Lines()
    lines.prompt()
    lines.say("one", usage={"input_tokens": 1, "cache_read_input_tokens": 10_000, "cache_creation_input_tokens": 500, "output_tokens": 9})
    lines.say("side", usage={"input_tokens": 90_000}, isSidechain=True)
    lines.say("two", usage={"input_tokens": 3, "cache_read_input_tokens": 10_500, "cache_creation_input_tokens": 700, "output_tokens": 9})
    lines.prompt("and")
    found = usage.newest_usage(lines.write(tmp_path / "t.jsonl"))
    assert found.tokens == 11_203
    assert found.at == claude_code.seconds_of("2026-01-05T10:00:03.000Z")


@pytest.mark.parametrize(
    ("created", "ttl"), [({"ephemeral_1h_input_tokens": 5}, 3600), ({"ephemeral_5m_input_tokens": 5}, 300), (None, 300)]
)
def test_the_cache_lifetime_is_the_accounts(tmp_path, created, ttl):
    lines = Lines()
    lines.say("one", usage={"cache_read_input_tokens": 10_000, "cache_creation": created})
    found = usage.newest_usage(lines.write(tmp_path / "t.jsonl"))
    assert found.cache_ttl_s == ttl
    assert found.is_warm(found.at + ttl - 1)
    assert not found.is_warm(found.at + ttl)


def test_only_the_end_of_a_long_file_is_read(tmp_path):
    lines = Lines()
    lines.say("early", usage={"cache_read_input_tokens": 10_000})
    for _ in range(50):
        lines.prompt("x" * 1_000)
    path = lines.write(tmp_path / "t.jsonl")
    assert usage.newest_usage(path, 4_000) is None
    assert usage.newest_usage(path).tokens == 10_000


def test_a_missing_file_and_odd_usage_tell_nothing(tmp_path):
    assert usage.newest_usage(str(tmp_path / "none.jsonl")) is None
    assert usage.newest_usage("\0") is None
    for odd in (None, 7, [], {"input_tokens": "many"}, {"input_tokens": -3}, {"input_tokens": True}, {"input_tokens": 10**12}):
        assert usage.prompt_tokens(odd) == 0


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [("1970-01-01T00:00:00Z", 0.0), ("2024-02-29T12:00:00.250Z", 1709208000.25), ("2026-11-21T22:00:00.000Z", 1795298400.0),
     ("yesterday", 0.0),
     (None, 0.0), ("2026-13-xx", 0.0)],
)  # fmt: skip
def test_times_are_read_as_the_host_writes_them(stamp, seconds):
    assert claude_code.seconds_of(stamp) == seconds
