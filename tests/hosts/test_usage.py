"""Context size, window, cache warmth and calibration come from the usage that the host writes down; the window first from what the
person and Claude Code say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.handlers import session_events, thresholds
from popkit_retention.core.hosts.claude_code import TOOLS, compaction_settings
from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.host_compaction import FILE_TOKENS
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.session_facts import SessionFacts
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import session
from popkit_retention.lab.try_command import report_of
from tests.policy.scenario import SHIPPED
from tests.views.written import PROJECT, Written

from .lines import Lines


def test_the_newest_answer_of_the_main_chain_gives_the_size(tmp_path):
    lines = Lines()
    lines.prompt()
    lines.say("one", usage={"input_tokens": 1, "cache_read_input_tokens": 10_000, "cache_creation_input_tokens": 500, "output_tokens": 9})
    lines.say("side", usage={"input_tokens": 90_000}, isSidechain=True)
    lines.say("two", usage={"input_tokens": 3, "cache_read_input_tokens": 10_500, "cache_creation_input_tokens": 700, "output_tokens": 9})
    lines.prompt("and")
    newest = usage.newest_usage(lines.write(tmp_path / "t.jsonl"))
    assert newest.tokens == 11_203
    assert newest.at == seconds_of("2026-01-05T10:00:03.000Z")


@pytest.mark.parametrize(
    ("created", "ttl"), [({"ephemeral_1h_input_tokens": 5}, 3600), ({"ephemeral_5m_input_tokens": 5}, 300), (None, 300)]
)
def test_the_cache_lifetime_is_the_accounts(tmp_path, created, ttl):
    lines = Lines()
    lines.say("one", usage={"cache_read_input_tokens": 10_000, "cache_creation": created})
    newest = usage.newest_usage(lines.write(tmp_path / "t.jsonl"))
    assert newest.cache_ttl_s == ttl
    assert newest.is_warm(newest.at + ttl - 1)
    assert not newest.is_warm(newest.at + ttl)


def test_the_end_of_a_long_file_is_read_and_more_of_it_where_that_has_no_answer(tmp_path):
    lines = Lines()
    lines.say("early", usage={"cache_read_input_tokens": 10_000})
    for _ in range(50):
        lines.prompt("x" * 1_000)
    path = lines.write(tmp_path / "t.jsonl")
    assert usage.newest_usage(path, 4_000).tokens == 10_000
    lines.say("late", usage={"cache_read_input_tokens": 12_000})
    assert usage.newest_usage(lines.write(tmp_path / "t.jsonl"), 4_000).tokens == 12_000


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
    assert seconds_of(stamp) == seconds


# --- the window --------------------------------------------------------------------------------------------------------------------------

IN_JANUARY, IN_MAY = 1_768_000_000.0, 1_778_000_000.0  # of 2026
HAIKU, OPUS_46, OPUS = "claude-haiku-4-5-20251001", "claude-opus-4-6", "claude-opus-5"


@pytest.mark.parametrize(
    ("model", "at", "configured", "facts", "compacted", "newest", "expected"),
    [
        (OPUS, IN_MAY, None, {}, 0, 50_000, (1_000_000, "model")),
        (HAIKU, IN_MAY, None, {}, 0, 50_000, (200_000, "model")),
        (OPUS_46, IN_JANUARY, None, {}, 0, 50_000, (200_000, "model")),
        (OPUS_46, IN_MAY, None, {}, 0, 50_000, (1_000_000, "model")),
        (OPUS_46, 0.0, None, {}, 0, 50_000, (1_000_000, "model")),
        (OPUS_46 + "[1m]", IN_JANUARY, None, {}, 0, 50_000, (1_000_000, "model")),
        (OPUS_46, IN_JANUARY, None, {}, 0, 250_000, (1_000_000, "assumed")),
        (OPUS_46, IN_JANUARY, None, {"largest_tokens": 250_000}, 0, 20_000, (1_000_000, "assumed")),
        (OPUS, IN_MAY, None, {"window_tokens": 400_000}, 168_000, 50_000, (400_000, "client")),
        (OPUS, IN_MAY, None, {"window_tokens": 200_000, "largest_tokens": 600_000}, 0, 50_000, (200_000, "client")),
        (OPUS, IN_MAY, None, {"window_tokens": 200_000}, 0, 300_000, (1_000_000, "model")),
        (OPUS, IN_MAY, 300_000, {"window_tokens": 400_000}, 168_000, 50_000, (300_000, "configuration")),
        (OPUS, IN_MAY, 200_000, {}, 0, 1_200_000, (1_200_000, "assumed")),
        (OPUS, IN_MAY, None, {}, 168_000, 50_000, (168_000, "transcript")),
        (OPUS, IN_MAY, None, {"compacted_tokens": 168_000}, 0, 50_000, (168_000, "transcript")),
        (OPUS, IN_MAY, None, {"compacted_tokens": 168_000}, 0, 175_000, (175_000, "transcript")),
        (OPUS, IN_MAY, None, {"compacted_tokens": 168_000}, 0, 400_000, (1_000_000, "model")),
        ("", IN_MAY, None, {}, 155_000, 100_000, (155_000, "transcript")),
        ("some-model", IN_MAY, None, {}, 0, 50_000, (1_000_000, "assumed")),
    ],
)  # fmt: skip
def test_the_window_is_believed_in_this_order(model, at, configured, facts, compacted, newest, expected):
    rules = Ruleset.from_config({**SHIPPED, "window_tokens": configured}, TOOLS)
    assert usage.window_of(rules, SessionFacts(**facts), Usage(newest, at, model), compacted=compacted) == expected


TOLD = {"window": None, "percent": None, "off": False}
HALF = {**TOLD, "percent": 50.0}
SAID = {"tokens": 467_000, "told": TOLD, "model": None, "window": 1_000_000}


@pytest.mark.parametrize(
    ("facts", "largest", "newest", "expected"),
    [
        ({"window_tokens": 1_000_000, "compaction": TOLD}, 0, 50_000, (967_000, "compaction")),
        ({"window_tokens": 200_000, "compaction": TOLD}, 0, 50_000, (167_000, "compaction")),
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "window": 100_000}}, 0, 50_000, (67_000, "compaction")),
        ({"compaction": {**TOLD, "window": 100_000}}, 0, 50_000, (67_000, "compaction")),
        ({"window_tokens": 200_000, "compaction": {**TOLD, "window": 400_000}}, 0, 50_000, (167_000, "compaction")),
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "percent": 50.0}}, 0, 50_000, (490_000, "compaction")),
        ({"window_tokens": 200_000, "compaction": {**TOLD, "percent": 99.0}}, 0, 50_000, (167_000, "compaction")),  # it only lowers
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "window": 200_000, "percent": 50.0}}, 0, 50_000, (90_000, "compaction")),
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "off": True}}, 0, 50_000, (1_000_000, "client")),
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "window": 100_000}}, 0, 70_000, (70_000, "compaction")),  # it is about to
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "window": 100_000}}, 0, 120_000, (1_000_000, "client")),  # it does not
        # What the client says holds until a person tells it something else, or goes to another model.
        ({"window_tokens": 1_000_000, "compaction": TOLD, "compacts_at": SAID}, 0, 50_000, (467_000, "compaction")),
        ({"window_tokens": 1_000_000, "compaction": TOLD, "compacts_at": {**SAID, "tokens": 0}}, 0, 50_000, (1_000_000, "client")),
        ({"window_tokens": 1_000_000, "compaction": {**TOLD, "percent": 50.0}, "compacts_at": SAID}, 0, 50_000, (490_000, "compaction")),
        ({"window_tokens": 1_000_000, "compaction": HALF, "compacts_at": {**SAID, "told": HALF}}, 0, 50_000, (240_000, "compaction")),
        ({"window_tokens": 200_000, "compaction": TOLD, "compacts_at": SAID}, 0, 50_000, (167_000, "compaction")),
        ({"window_tokens": 200_000}, 220_000, 60_000, (1_000_000, "model")),
    ],
)  # fmt: skip
def test_the_window_ends_where_the_host_compacts_and_is_no_smaller_than_its_content(facts, largest, newest, expected):
    rules = Ruleset.from_config(SHIPPED, TOOLS)
    assert usage.window_of(rules, SessionFacts(**facts), Usage(newest, IN_MAY, OPUS), largest) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [("100000", 100_000), ("200k", 200_000), ("1M", 1_000_000), ("1_000_000", 1_000_000), (" 400K ", 400_000), ("5000", 100_000),
     ("", None), ("auto", None), ("-1", None), ("k", None), ("9" * 5_000, None), ("²", None)],
)  # fmt: skip
def test_the_window_that_is_compacted_for_is_read_as_the_client_reads_it(said, expected):
    assert compaction_settings.window_told({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": said}) == expected
    assert compaction_settings.window_told({}) is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "60"}, {"percent": 60.0}),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "7.5%"}, {"percent": 7.5}),
        *(({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": odd}, {}) for odd in ("", "0", "101", "nan", "half")),
        ({"DISABLE_COMPACT": "1"}, {"off": True}),
        ({"DISABLE_AUTO_COMPACT": "true"}, {"off": True}),
        ({"DISABLE_AUTO_COMPACT": "0"}, {}),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100k"}, {"window": 100_000}),
    ],
)  # fmt: skip
def test_the_environment_tells_when_the_host_compacts(environ, expected, tmp_path):
    assert compaction_settings.told({"CLAUDE_CONFIG_DIR": str(tmp_path), **environ}, "") == {**TOLD, **expected}


@pytest.mark.parametrize(
    ("own", "local", "expected"),
    [
        ({"autoCompactWindow": 300_000}, {}, {"window": 300_000}),
        ({"autoCompactWindow": 300_000}, {"autoCompactWindow": 200_000}, {"window": 200_000}),
        ({"autoCompactWindow": 300_000, "modelSettings": {OPUS: {"autoCompactWindow": 400_000}}}, {}, {"window": 400_000}),
        ({"modelSettings": {OPUS + "[1m]": {"autoCompactWindow": 400_000}}}, {}, {"window": 400_000}),
        ({"modelSettings": {HAIKU: {"autoCompactWindow": 150_000}}}, {}, {}),
        ({"autoCompactWindow": 300_000, "modelSettings": {OPUS: {"autoCompactWindow": "auto"}}}, {}, {}),
        ({"modelSettings": {OPUS: {"autoCompactWindow": 400_000}}}, {"autoCompactWindow": 200_000}, {"window": 200_000}),
        ({"autoCompactWindow": "many", "modelSettings": 7, "autoCompactEnabled": 0}, {}, {}),
        ({"autoCompactEnabled": False}, {}, {"off": True}),
        ({"autoCompactEnabled": False}, {"autoCompactEnabled": True}, {}),
    ],
)  # fmt: skip
def test_settings_and_autocompact_tell_when_the_host_compacts(own, local, expected, tmp_path):
    for path, settings in (("own/settings.json", own), ("shop/.claude/settings.local.json", local)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(json.dumps(settings))
    told = compaction_settings.told({"CLAUDE_CONFIG_DIR": str(tmp_path / "own")}, str(tmp_path / "shop"), OPUS + "-20260101")
    assert told == {**TOLD, **expected}
    first = {"CLAUDE_CONFIG_DIR": str(tmp_path / "own"), "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "500k"}
    assert compaction_settings.told(first, str(tmp_path / "shop"), OPUS)["window"] == 500_000, "the environment decides"


@pytest.mark.parametrize(
    ("breakdown", "expected"),
    [
        ({"isAutoCompactEnabled": True, "autoCompactThreshold": 467_000}, 467_000),
        ({"isAutoCompactEnabled": True, "autoCompactThreshold": "many"}, 0),
        ({"isAutoCompactEnabled": False}, 0),
        ({"autoCompactThreshold": 467_000}, None),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_the_client_says_where_it_compacts(breakdown, expected):
    assert compaction_settings.reported(breakdown) == expected


def test_a_model_that_was_switched_to_in_the_session_has_its_own_window():
    rules = Ruleset.from_config(SHIPPED, TOOLS)
    assert usage.window_of(rules, SessionFacts(model=HAIKU), Usage(50_000, IN_MAY, OPUS)) == (200_000, "model")


@pytest.mark.parametrize("odd", [None, 7, [], {}, {"trigger": "auto"}, {"trigger": "auto", "preTokens": "many"}, {"preTokens": 168_000},
                                 {"trigger": "manual", "preTokens": 168_000}, {"trigger": ["auto"], "preTokens": 168_000},
                                 {"trigger": "auto", "preTokens": -5}, {"trigger": "auto", "preTokens": True}])  # fmt: skip
def test_a_boundary_that_does_not_mention_a_full_context_gives_nothing(odd):
    assert usage.compacted_at({"compactMetadata": odd}) == 0


def _compacted(folder: Path, trigger: str) -> Written:
    """A session that was compacted at 168,000 tokens and has gone on since."""
    written = Written(folder)
    written.say("look")
    written.read("src/a.ts")
    written.tokens = 160_000
    written.read("src/b.ts")
    written.tokens = 168_000
    written.compact(trigger)
    written.tokens = 30_000
    written.say("go on")
    written.read("src/c.ts")
    return written


def _context(written: Written, tmp_path: Path) -> dict:
    return report_of(str(written.path), PROJECT, {"POPKIT_HOME": str(tmp_path / "home")})["context"]


def test_a_session_that_compacted_itself_shows_how_large_its_window_was(tmp_path):
    context = _context(_compacted(tmp_path / "projects", "auto"), tmp_path)
    assert (context["window"], context["window_source"]) == (168_000, "transcript")


def test_a_compaction_by_hand_shows_nothing_of_the_window(tmp_path):
    context = _context(_compacted(tmp_path / "projects", "manual"), tmp_path)
    assert (context["window"], context["window_source"]) == (1_000_000, "model")


def test_behind_a_compaction_of_the_hosts_all_that_stands_is_shown_as_an_estimate(tmp_path):
    """Older clients do not say how much it left: system and tools, the summary, and the files that were read last, each up to a limit."""
    written, summary = Written(tmp_path / "projects"), "It went well. " * 400
    written.model, written.tokens, written.created = OPUS, 20_000, 0
    written.say("look")
    shown = {name: "a line of code\n" * count for name, count in (("a.ts", 400), ("b.ts", 4_000), ("c.ts", 200))}
    for name, content in shown.items():
        written.call("Read", {"file_path": f"{PROJECT}/{name}"}, content)
    base = 20_000
    written.compact()
    written._line("user", {"role": "user", "content": summary}, isCompactSummary=True)
    context = _context(written, tmp_path)
    files = sum(min(FILE_TOKENS, estimate_tokens(content, "code")) for content in shown.values())
    assert not context["measured"]
    assert context["tokens"] == pytest.approx(base + estimate_tokens(summary) + files, rel=0.02)
    written.grep("more")
    assert _context(written, tmp_path)["measured"]


def _hooked(written: Written, tmp_path: Path) -> tuple[dict, dict]:
    environ = {"POPKIT_HOME": str(tmp_path / "home"), "POPKIT_CLOCK": str(written.now)}
    return environ, {"session_id": written.session, "transcript_path": str(written.path), "cwd": PROJECT}


def _checked(written: Written, tmp_path: Path) -> tuple[int, str]:
    checked = thresholds.check_thresholds(written.site(tmp_path / "home"), str(written.path), written.now)
    return checked["window"], checked["window_source"]


def test_hooks_remember_what_the_end_of_the_transcript_no_longer_shows(tmp_path):
    """A hook reads half a megabyte from the end; what was before that stays known from the start of the session."""
    written = _compacted(tmp_path / "projects", "auto")
    environ, payload = _hooked(written, tmp_path)
    session_events.start({**payload, "hook_event_name": "SessionStart", "source": "resume"}, environ)
    written.bash("cat large", "x" * usage.TAIL_BYTES)
    written.tokens = 50_000
    written.read("src/d.ts")
    assert _checked(written, tmp_path) == (168_000, "transcript")


@pytest.mark.parametrize(("trigger", "expected"), [("auto", (168_000, "transcript")), ("manual", (967_000, "compaction"))])
def test_a_compaction_that_begins_shows_how_large_the_window_is(tmp_path, trigger, expected):
    written = Written(tmp_path / "projects")
    written.say("look")
    written.tokens = 168_000
    written.read("src/a.ts")
    environ, payload = _hooked(written, tmp_path)
    session_events.before_compaction({**payload, "hook_event_name": "PreCompact", "trigger": trigger, "custom_instructions": ""}, environ)
    assert (session.read(str(tmp_path / "home"), written.session).compacted_tokens or 0) // 1_000 == (168 if trigger == "auto" else 0)
    window, source = _checked(written, tmp_path)
    assert (window // 1_000 * 1_000, source) == expected


def test_real_self_compacted_sessions_have_windows_at_most_a_fifth_above_that(transcripts, tmp_path, count):
    """Of a third of the sessions, of all with --slow."""
    seen = 0
    for path in sorted(transcripts.rglob("*.jsonl"))[:: count(3, 1)]:
        sizes = _auto_sizes(path)
        context = report_of(str(path), "", {"POPKIT_HOME": str(tmp_path)})["context"] if sizes else None
        if context:
            seen += 1
            assert min(sizes) <= context["window"] <= 1.2 * min(sizes), path.name
            assert context["window_source"] != "assumed"
    assert seen >= count(5, 15)


def _auto_sizes(path: Path) -> list[int]:
    """The sizes at which Claude Code compacted a session by itself, read with nothing of ours."""
    sizes = []
    with path.open("rb") as file:
        for line in file:
            if b"compact_boundary" in line:
                metadata = json.loads(line).get("compactMetadata") or {}
                sizes += [metadata["preTokens"]] if metadata.get("trigger") == "auto" else []
    return sizes
