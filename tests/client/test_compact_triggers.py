"""What starts a compaction in the newest client, and what is left to the client's own: thresholds, words."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from popkit_retention.core.policy import compaction_point
from popkit_retention.core.policy.ruleset import COMPACT_LEAST_TOKENS, COMPACT_TARGET
from popkit_retention.core.policy.session_facts import SessionFacts
from popkit_retention.core.state import shipped
from popkit_retention.core.state.rebuild import rebuild
from tests.patience import until

from .client import ClientHome
from .compacted import READ, RUN, SCRIPTS, Compacted, Worked, boundaries, good, tell, toasts, words
from .installs import Installed
from .reclaimed import chain, placeholders, result, whole
from .scripted_api import Recorded, ScriptedApi, call, say

WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
# Before it is answered, the client's own figures are handed over; behind a turn they are too, unless the client ends first.
REPORTED = "/popkit retention"
# The client writes a summary beforehand where a flag says so that its maker hands out, and that it keeps in its configuration. It begins
# once the provider has counted as many tokens as the setting says, from a session's second prompt on.
PRECOMPUTES = {"cachedFeatureFlags": {"tengu_sepia_moth": True}, "cachedGrowthBookFeatures": {"tengu_sepia_moth": True}}
KEEPS_FLAGS = {"CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF": "1"}
EARLY = ["--settings", json.dumps({"precomputeArmTokens": 50_000})]
FULL = 8  # the step of "fill" after which the window is full
LONG = " ".join(f"This is thing {number} of {{0}} that must never be forgotten." for number in range(400))


@pytest.fixture
def world(clients: dict[str, Installed], api: ScriptedApi) -> Iterator[Compacted]:
    """In a folder whose path is short enough for the sockets by which helpers are found."""
    with TemporaryDirectory(prefix="popkit-", ignore_cleanup_errors=True) as folder:
        home = ClientHome(Path(folder, "home"), clients["newest"], api.url)
        api.places["work"] = str(home.work)
        yield Compacted(home, api)


def last_before(api: ScriptedApi, script: str, step: int) -> tuple[Recorded, Recorded]:
    """The request that a step of a script answered, and the next one that goes on from there."""
    found = [turn for turn in api.turns() if f"toolu_{script}_{step - 1}_" in turn.text]
    before = [turn for turn in found if f"toolu_{script}_{step}_" not in turn.text][-1]
    return before, next(turn for turn in found if f"toolu_{script}_{step}_" in turn.text)


def test_a_full_window_in_mid_turn_is_compacted_to_the_target_and_the_turn_goes_on(world: Compacted):
    world.home.extra_env |= WINDOW
    done = world.play("fill it [[SCRIPT:fill]]")
    assert done.results[-1]["result"] == "filled"
    assert {request.kind for request in world.api.requests} == {"turn"}
    (entry,) = boundaries(done)
    assert entry["trigger"] == "auto"
    print("\nfrom the event to the answer, ms:", entry["duration_ms"], toasts(done))
    before, after = last_before(world.api, "fill", FULL)
    tell("threshold in mid-turn", before, after)
    assert good(after) == []
    assert words(after, "user")[0] == "fill it [[SCRIPT:fill]]"
    assert words(after, "assistant") == ["Nearly there."]
    assert result(after, f"toolu_fill_{FULL}_0").startswith("full")
    (noted,) = world.journal(done.session_id, "compact")
    assert noted["why"] == "auto"
    assert noted["after"] <= max(COMPACT_LEAST_TOKENS, COMPACT_TARGET * noted["before"]) < noted["before"]
    assert world.agrees(done.session_id)
    assert whole(world.home.transcript(done.session_id))
    assert world.errors() == ""


def test_the_file_that_was_read_last_stands_whole_behind_a_full_window(world: Compacted):
    """The client puts no file back behind an answer of ours."""
    world.home.extra_env |= WINDOW
    world.configure(compact_target=0.05)
    lines = [f"total_of_order_{number} = price_of_order_{number} * count" for number in range(100)]
    (world.home.work / "cart.py").write_text("\n".join(lines))
    world.api.scripts["look"] = [
        call(("Read", {"file_path": "{work}/cart.py"})),
        *[call(("Bash", {"command": f"seq {number} {number + 1_500}"})) for number in range(32)],
        say("Mend it where it multiplies."),
    ]
    done = world.play(["look [[SCRIPT:look]]", "fill it [[SCRIPT:fill]]"])
    before, after = last_before(world.api, "fill", FULL)
    tell("threshold behind a read", before, after)
    assert len(after.text) < 0.6 * len(before.text)
    assert result(after, "toolu_look_0_0") == result(before, "toolu_look_0_0")
    assert all(line in result(after, "toolu_look_0_0") for line in lines)
    assert good(after) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_a_missed_target_sends_the_older_part_to_the_summariser(world: Compacted):
    """The newer part stays word for word."""
    world.home.extra_env |= WINDOW
    world.configure(compact_target=0.05)
    world.api.summary = "It was a long turn. [[SCRIPT:fill]]"
    talks = [f"{LONG.format(part)} [[SCRIPT:talk]]" for part in ("one", "two", "three", "four")]
    done = world.play([*talks, "fill it [[SCRIPT:fill]]"])
    assert done.results[-1]["result"] == "filled"
    (summary,) = world.api.of_kind("summary")
    before, after = last_before(world.api, "fill", FULL)
    tell("target missed, the summariser's", before, summary)
    tell("target missed", before, after)
    assert "thing 399 of one" in summary.text
    assert "thing 399 of four" not in summary.text
    assert "thing 0 of one" not in after.text
    assert "It was a long turn." in after.text
    assert talks[-1] in words(after, "user")
    assert words(after, "assistant")[-1] == "Nearly there."
    assert result(after, f"toolu_fill_{FULL}_0").startswith("full")
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_the_share_is_of_where_the_client_compacts_and_a_notice_comes_before_it(world: Compacted):
    world.home.extra_env |= WINDOW
    world.api.scripts["nearly"] = [say("nearly full", cache_read_input_tokens=62_000)]
    done = world.play(["go [[SCRIPT:nearly]]", "on [[SCRIPT:nearly]]", "and on [[SCRIPT:nearly]]", REPORTED])
    assert boundaries(done) == []
    facts = json.loads((world.popkit_home / "sessions" / done.session_id / "session.json").read_text())
    assert facts["told"] == "critical"
    assert facts["compacts_at"]["tokens"] == 67_000, "as the client itself says"
    shown = world.popkit("context", "retention", "--json", "--session", done.session_id).stdout
    context = json.loads(shown)["context"]
    assert (context["window"], context["window_source"]) == (67_000, "compaction")
    assert 0.9 < context["ratio"] < 1


@pytest.mark.parametrize(("settings", "expected"), [({"autoCompactWindow": 300_000}, 267_000), ({"autoCompactEnabled": False}, 0)])
def test_where_it_compacts_is_reckoned_as_the_client_says_it(world: Compacted, settings: dict, expected: int):
    path = world.home.config / "settings.json"
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **settings}))
    world.api.scripts["small"] = [say("answered", cache_read_input_tokens=20_000)]
    done = world.play(["go [[SCRIPT:small]]", REPORTED])
    facts = json.loads((world.popkit_home / "sessions" / done.session_id / "session.json").read_text())
    assert facts["compacts_at"]["tokens"] == expected
    window = facts["window_tokens"]
    assert compaction_point.point(window, SessionFacts(**facts).but(compacts_at=None), 20_000) == (expected or window)


# Without a percentage, what the client says is also what the share above is of.
@pytest.mark.parametrize(("percent", "expected"), [pytest.param("", 67_000, marks=pytest.mark.slow), ("50", 40_000)])
def test_a_percentage_lowers_where_it_compacts_though_the_client_does_not_say_so(world: Compacted, percent: str, expected: int):
    world.home.extra_env |= {**WINDOW, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": percent}
    world.api.scripts["fill"] = [
        *SCRIPTS["fill"][:FULL],
        call(("Bash", {"command": "echo full"}), cache_read_input_tokens=50_000),
        say("ok"),
    ]
    world.api.scripts["small"] = [say("ok", cache_read_input_tokens=50_000)]
    done = world.play([f"{LONG.format('one')} [[SCRIPT:fill]]", "and on [[SCRIPT:small]]", REPORTED])
    facts = json.loads((world.popkit_home / "sessions" / done.session_id / "session.json").read_text())
    assert facts["compacts_at"]["tokens"] == 67_000
    assert compaction_point.point(facts["window_tokens"], SessionFacts(**facts), 0) == expected
    assert bool(boundaries(done)) == (expected < 50_000)


@pytest.mark.slow
def test_with_too_little_to_summarise_ours_is_used_though_the_target_is_missed(world: Compacted):
    world.home.extra_env |= WINDOW
    world.configure(compact_target=0.05)
    prompt = f"{LONG.format('one')} [[SCRIPT:fill]]"
    done = world.play([prompt])
    assert done.results[-1]["result"] == "filled"
    assert {request.kind for request in world.api.requests} == {"turn"}
    before, after = last_before(world.api, "fill", FULL)
    tell("too little to sum up", before, after)
    assert len(after.text) < 0.6 * len(before.text)
    assert words(after, "user")[0] == prompt
    assert good(after) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


@pytest.mark.slow
def test_with_words_behind_it_the_summariser_gets_what_is_left_and_the_words(worked: Worked):
    world = worked.world
    done = world.play(["/compact keep the plan", "now [[SCRIPT:talk]]"], worked.session_id)
    (summary,) = world.api.of_kind("summary")
    tell("with words", worked.last, summary)
    assert "keep the plan" in summary.text
    assert set(placeholders(summary.tool_results())) >= {RUN, READ}
    assert "It was" not in summary.text
    after = world.api.turns()[-1]
    assert "Scripted summary" in after.text
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_once_the_cache_is_cold_agreed_results_leave_before_the_next_prompt(worked: Worked):
    world = worked.world
    world.configure(compact_when_cold="on", auto_misses=100)
    world.home.extra_env["POPKIT_CLOCK"] = str(time.time() + 3_000)

    def prompts():
        yield "so [[SCRIPT:talk]]"
        transcript = world.home.transcript_path(worked.session_id)
        until(lambda: "compact_boundary" in transcript.read_text(), "a compaction")
        yield "now [[SCRIPT:talk]]"

    done = world.play(prompts(), worked.session_id)
    before, after = world.api.turns()
    tell("cold", before, after)
    assert {request.kind for request in world.api.requests} == {"turn"}
    assert set(placeholders(after.tool_results())) >= {RUN, READ}
    assert [toast.partition(":")[0] for toast in toasts(done)] == ["Compacted without a model"]
    assert good(after) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_a_long_conversation_goes_on_shorter_between_turns_while_the_cache_is_warm(world: Compacted):
    world.configure(compact_when_cold="on", auto_misses=100)
    for number in range(20):
        rows = [f"value_{number}_{row} = compute(row={row}, factor={number * row % 97})  # of part {number}" for row in range(400)]
        (world.home.work / f"part{number}.py").write_text("\n".join(rows))
    reads = [("Read", {"file_path": f"{{work}}/part{number}.py"}) for number in range(20)]
    world.api.scripts["long"] = [
        *[call(*reads[first : first + 4]) for first in range(0, 20, 4)],
        *[call(("Bash", {"command": f"echo {number}"}), cache_read_input_tokens=230_000) for number in range(5)],
        say("all is read", cache_read_input_tokens=230_000),
    ]
    world.api.scripts["again"] = [call(reads[0]), say("it is read again")]

    def prompts():
        yield "read it [[SCRIPT:long]]"
        transcript = world.home.transcript_path(world.session_id())
        until(lambda: "compact_boundary" in transcript.read_text(), "a compaction")
        yield "now [[SCRIPT:again]]"

    done = world.play(prompts())
    *_, before, after, _last = world.api.turns()
    rebuilt = rebuild(str(world.home.transcript_path(done.session_id)), world.journal(done.session_id), lambda _: shipped.rules())
    assert rebuilt.conversation.look_ups.count == 1, "what is read again because it left"
    tell("long", before, after)
    assert {request.kind for request in world.api.requests} == {"turn"}
    assert len(after.text) < 0.4 * len(before.text)
    [entry] = world.journal(done.session_id, "compact")
    assert entry["why"] == "long"
    assert [toast.partition(":")[0] for toast in toasts(done)] == ["Compacted without a model"]
    assert good(after) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_near_the_bound_a_long_conversation_waits_and_says_what_has_been_looked_up(world: Compacted):
    world.configure(auto_misses=30)
    for number in range(30):
        rows = [f"value_{number}_{row} = compute(row={row}, factor={number * row % 97})  # of part {number}" for row in range(400)]
        (world.home.work / f"part{number}.py").write_text("\n".join(rows))
    reads = [("Read", {"file_path": f"{{work}}/part{number}.py"}) for number in range(30)]
    full = {"cache_read_input_tokens": 230_000}
    world.api.scripts["long"] = [
        *[call(*reads[first : first + 4]) for first in range(0, 20, 4)],
        *[call(("Bash", {"command": f"echo {number}"}), **full) for number in range(5)],
        say("all is read", **full),
    ]
    world.api.scripts["more"] = [
        *[call(*reads[first : first + 5]) for first in range(20, 30, 5)],
        *[call(("Bash", {"command": f"echo {number}"}), **full) for number in range(5, 10)],
        say("more is read", **full),
    ]
    world.api.scripts |= {"hello": [say("hello")], "last": [say("that is all")]}
    answered: list[dict] = []
    told: list[str] = []

    def prompts():
        yield "hello [[SCRIPT:hello]]"
        assert "It is on." in world.popkit("context", "auto", "on").stdout
        yield "read it [[SCRIPT:long]]"
        id = world.session_id()
        until(lambda: world.journal(id, "compact"), "a compaction")
        until(lambda: "compact_boundary" in world.home.transcript_path(id).read_text(), "its boundary")
        stands = world.home.transcript_path(id).read_text().rpartition("compact_boundary")[2]
        gone = [number for number in range(16) if f"value_{number}_399 = " not in stands]
        world.api.scripts["again"] = [*(call(reads[number]) for number in gone[:14]), say("it is read again")]
        yield "now [[SCRIPT:again]]"
        yield "and more [[SCRIPT:more]]"
        answered.append(world.asked("auto"))
        told.append(world.popkit("context", "auto").stdout)
        yield "go on [[SCRIPT:last]]"

    done = world.play(prompts())
    print(*toasts(done), *told, "characters of each request:", [len(request.text) for request in world.api.turns()], sep="\n")
    [current], [words] = answered, told
    assert [entry["why"] for entry in world.journal(done.session_id, "compact")] == ["long"], "the second time it waits"
    sizes = [len(request.text) for request in world.api.turns()]
    [shrunk] = [at for at in range(1, len(sizes)) if sizes[at] < sizes[at - 1]]
    assert sizes[shrunk] < 0.5 * sizes[shrunk - 1]
    assert sizes[-1] > sizes[shrunk - 1], "it has grown past the trigger again"
    assert (current["look_ups"], current["stays"]) == (14, 1.0)
    in_a_line = " ".join(words.split())
    assert "So far: 14 look-ups in 35 requests because of PopKit, which holds back near 30 in 100." in in_a_line
    assert "so nothing leaves by itself until more requests have come. A clear would take out " in in_a_line
    assert [toast.partition(":")[0] for toast in toasts(done)] == ["Compacted without a model"]
    assert world.errors() == ""


@pytest.mark.slow
def test_switched_off_the_clients_own_compaction_runs_as_ever(worked: Worked):
    world = worked.world
    world.configure(compact="off")
    done = world.play(["/compact", "now [[SCRIPT:talk]]"], worked.session_id)
    (summary,) = world.api.of_kind("summary")
    assert not placeholders(summary.tool_results())
    assert world.api.turns()[-1].text.count("Tool results from before the summary are archived") == 1
    assert toasts(done) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def lasting(world: Compacted, script: str, ended: Callable[[], object], what: str) -> str:
    """Return a prompt whose script has the window half full, and lasts up to the moment that `ended` is true of."""
    end = world.home.work / script
    world.api.scripts[script] = [
        call(("Bash", {"command": "echo grown"}), cache_read_input_tokens=120_000),
        call(("Bash", {"command": f"until [ -e {end} ]; do sleep .1; done"}), cache_read_input_tokens=120_000),
        say("grown"),
    ]

    def wait() -> None:
        try:
            until(ended, what)
        finally:
            end.touch()

    threading.Thread(target=wait, daemon=True).start()
    return f"grow [[SCRIPT:{script}]]"


def test_a_summary_is_written_beforehand_only_where_ours_will_not_answer(world: Compacted):
    configuration, log = world.home.config / ".claude.json", world.home.root / "debug.txt"
    configuration.write_text(json.dumps({**json.loads(configuration.read_text()), **PRECOMPUTES}))
    world.home.extra_env |= KEEPS_FLAGS
    skipped = "precomputed compact: skipped (main, PopKit answers the compaction when it comes)"

    def prompts():
        yield "now [[SCRIPT:talk]]"
        yield lasting(world, "skips", lambda: log.exists() and skipped in log.read_text(), "the summary to be skipped")
        assert {request.kind for request in world.api.requests} == {"turn"}
        world.configure(compact="off")
        yield lasting(world, "writes", lambda: world.api.of_kind("summary"), "a summary")

    done = world.play(prompts(), extra=[*EARLY, "--debug-file", str(log)])
    assert [answered["result"] for answered in done.results] == ["just talking", "grown", "grown"]
    assert world.api.of_kind("summary")
    assert boundaries(done) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_a_subagent_that_fills_up_is_compacted_too(worked: Worked):
    world = worked.world
    world.home.extra_env |= WINDOW
    world.api.scripts["ask"] = [world.agent("fill"), say("asked")]
    done = world.play("ask [[SCRIPT:ask]]", worked.session_id)
    assert done.results[-1]["result"] == "asked"
    assert {request.kind for request in world.api.requests} == {"turn"}
    before, after = last_before(world.api, "fill", FULL)
    tell("subagent", before, after)
    assert len(after.text) < len(before.text) / 2
    assert good(after) == []
    results_before, results_after = worked.last.tool_results(), world.api.turns()[-1].tool_results()
    assert {id: results_after[id] for id in results_before} == results_before, "the main thread is as it was"
    ((agent_id, lines),) = world.home.subagent_transcripts(done.session_id).items()
    assert whole(lines)
    assert world.stored(done.session_id, agent_id) == world.rebuilt(done.session_id, agent_id), chain(lines)
    receipts = world.asked("why", "--session", done.session_id)
    assert receipts["receipts"] == [], "nothing left the main thread"
    assert {(receipt["agent"], receipt["why"]) for receipt in receipts["agents"]} == {(agent_id, "auto")}
    assert world.errors() == ""
