"""What PopKit would have done by itself in past sessions is what the lab counts, in the dollars of the bill."""

from __future__ import annotations

import bz2
import json
import os
from pathlib import Path

import pytest

from popkit_retention.bill import digests
from popkit_retention.bill.costs import usd_of
from popkit_retention.bill.digest import digest_of
from popkit_retention.core.policy.own_lines import found_in, marked
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.text import laid_out
from popkit_retention.lab import past_sessions, replay_policies, sent_requests, survey, survey_views
from popkit_retention.lab.survey_card import card_of
from popkit_retention.parallel.attempts import SessionSkipped
from popkit_retention.parallel.results import Workplace
from popkit_retention.parallel.sources import find
from tests.cli.made_up_afternoon import SAMPLE
from tests.hosts import test_opencode as opencode
from tests.hosts.rollouts import forked, worked
from tests.hosts.stores import database
from tests.views.written import Written, spec_session


def _share(policy: str, path: str, ttl_s: int) -> float:
    """What a session costs under a policy, as a share of what it costs with the host's own compactions."""
    session = sent_requests.read(path)
    prices = replay_policies.prices_for(session, ttl_s)
    was = replay_policies.score("nothing", session, prices)
    return replay_policies.score(policy, session, prices).cost / was.cost


def _compacted(folder: Path, trigger: str = "auto") -> str:
    """A session in which much is read, with a compaction in the middle."""
    written = Written(folder, session="shop")
    for turn in range(2):
        written.say("look at everything " + "and say what you find " * 20)
        for number in range(24):
            lines = "\n".join(f"export const value_{at} = configure('part {number % 20}', {at * number % 20})" for at in range(120))
            written.call("Read", {"file_path": f"{written.project}/src/{number % 20}.ts"}, lines)
        written.ends()
        if not turn:
            written.compact(trigger)
            written._line("user", {"role": "user", "content": "A summary: " + "it went well. " * 60}, isCompactSummary=True)
    return str(written.path)


def _made_up(folder: Path) -> str:
    path = folder / "afternoon.jsonl"
    path.write_bytes(bz2.decompress(SAMPLE.read_bytes()))
    return str(path)


@pytest.mark.parametrize("make", [_made_up, _compacted, lambda folder: str(spec_session(folder).path)])
def test_the_net_is_that_of_the_default_policy_beside_the_hosts_own_compactions(tmp_path: Path, make) -> None:
    path = make(tmp_path)
    row = past_sessions.row_of(path, "")
    session = sent_requests.read(path)
    ttl_s = max(request.usage.cache_ttl_s for request in session.requests)
    assert row.usd == pytest.approx(
        sum(sum((usd_of(used, past_sessions.models()) or {}).values()) for used in digest_of(path, Path(path).stat().st_size)["used"])
    )
    default = row.kept_out_usd + row.compactions_usd
    assert default == pytest.approx(row.usd * (1 - _share("default", path, ttl_s)), abs=1e-9)
    assert default + row.auto_usd == pytest.approx(row.usd * (1 - _share("default+auto", path, ttl_s)), abs=1e-9), "within the bound"


def test_what_auto_would_have_saved_is_within_the_bound_of_ones_own_configuration(tmp_path: Path) -> None:
    saved = []
    for most in (0, 100):
        (tmp_path / "retention-config.json").write_text(json.dumps({"retention": {"auto_misses": most}}))
        saved.append(past_sessions.row_of(_made_up(tmp_path), str(tmp_path)).auto_usd)
    assert saved[0] == 0 < saved[1]


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_a_compaction_that_was_recorded_counts_with_its_summary(tmp_path: Path, trigger: str) -> None:
    path = _compacted(tmp_path, trigger)
    row, steps = past_sessions.row_of(path, ""), sent_requests.read(path).steps
    assert (row.compactions, row.summary_tokens) == (1, round(len("A summary: " + "it went well. " * 60) / 2.1))
    assert row.kept_tokens > 2 * len("and say what you find " * 20) / 2.1, "the prompt stands word for word"
    until = [kind for kind, *_ in steps].index("compact")
    assert row.kept_tokens < sum(what.tokens for kind, what, *_ in steps[:until] if kind == "add"), "and nothing that came later counts"


def test_without_a_compaction_and_a_cold_cache_only_the_door_counts(tmp_path: Path) -> None:
    row = past_sessions.row_of(str(spec_session(tmp_path).path), "")
    assert row.kept_out_tokens > 0
    assert (row.compactions, row.kept_tokens, row.summary_tokens, row.compactions_usd, row.auto_usd) == (0, 0, 0, 0, 0)


def cleared(folder: Path, session: str = "shop") -> str:
    """A session with a placeholder of ours in it."""
    written = Written(folder, session=session)
    written.say("go")
    written.call("Read", {"file_path": f"{written.project}/a.ts"}, placeholder("Read a.ts", "edited later", "abcdefgh"))
    for number in range(8):
        written.read(f"{session}-{number}.ts")
    return str(written.path)


def _compacted_by_popkit(folder: Path) -> str:
    """A session whose compaction left no summary."""
    written = Written(folder, session="shop")
    for name in ("a.ts", "b.ts"):
        written.say("go")
        for number in range(4):
            written.read(f"{number}{name}")
        written.compact()
    return str(written.path)


@pytest.mark.parametrize("make", [cleared, _compacted_by_popkit])
def test_a_session_that_popkit_has_changed_is_left_out_and_counted(tmp_path: Path, make) -> None:
    path, other = make(tmp_path), _session(tmp_path, "other")
    assert past_sessions.row_of(path, "") == past_sessions.PastSums(changed=1)
    both, alone = _sums([path, other]), _sums([other])
    assert (both.changed, both._replace(changed=0, left=0)) == (1, alone)
    found = survey.survey([path, other], ["default"], (300,), 1)
    assert (found["sessions"], found["skipped"]) == (1, {survey.CHANGED: 1})
    assert path not in "\n".join(laid_out(survey_views.lines_of({**found, "card": card_of(found, "0")}), 200))


@pytest.mark.parametrize("says", ["[PopKit cleared nothing]", marked(placeholder("Read a.ts", "edited later", "abcdefgh"))[0]])
def test_a_session_in_which_something_only_looks_like_ours_counts(tmp_path: Path, says: str) -> None:
    written = spec_session(tmp_path)
    written.call("Read", {"file_path": f"{written.project}/a.ts"}, says)
    assert past_sessions.row_of(str(written.path), "").sessions == 1


GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()


@pytest.mark.parametrize(
    ("tool", "tool_input", "output"),
    [
        ("Read", {"file_path": "docs/guide.md"}, "\n".join(f"{number}\t{line}" for number, line in enumerate(GUIDE.split("\n"), 1))),
        ("Bash", {"command": "cd docs && cat guide.md"}, GUIDE),
        ("Bash", {"command": "grep -h PopKit docs/guide.md; npm test"}, GUIDE),
        ("Grep", {"pattern": "PopKit", "output_mode": "content"}, "\n".join(f"docs/guide.md:{line}" for line in GUIDE.split("\n"))),
    ],
)
def test_a_session_that_looks_at_our_guide_is_not_taken_for_changed(tmp_path: Path, tool: str, tool_input: dict, output: str) -> None:
    assert any(found_in(output)), "it shows lines of ours"
    written = spec_session(tmp_path)
    written.call(tool, tool_input, output)
    assert past_sessions.row_of(str(written.path), "").changed == 0


REFERENCE = "[2 lines as in your Read of a.ts above: from «one» to «two»]"


@pytest.mark.parametrize(
    ("tool", "tool_input", "output"),
    [
        ("Read", {"file_path": "a.ts"}, f"1\timport b\n{REFERENCE}\n4\tlast"),
        ("Bash", {"command": "npm test"}, "1 failed\n[PopKit left out 40 of 41 lines; to see all: popkit restore abcdefgh]"),
        ("Bash", {"command": "npm run build"}, "[the line above stands 40 times in a row]"),
    ],
)
def test_a_session_in_which_something_entered_shorter_is_changed(tmp_path: Path, tool: str, tool_input: dict, output: str) -> None:
    written = spec_session(tmp_path)
    written.call(tool, tool_input, output)
    assert past_sessions.row_of(str(written.path), "") == past_sessions.PastSums(changed=1)


def test_the_configuration_of_each_project_holds(tmp_path: Path) -> None:
    written = spec_session(tmp_path, project=str(tmp_path / "shop"))
    assert past_sessions.row_of(str(written.path), "").kept_out_results == 2
    (tmp_path / "shop" / ".claude").mkdir(parents=True)
    (tmp_path / "shop" / ".claude" / "retention-config.json").write_text(json.dumps({"retention": {"say_once": "off", "shape": "off"}}))
    assert past_sessions.row_of(str(written.path), "").kept_out_results == 0


def test_sums_are_those_of_the_sessions_and_the_rest_is_named(tmp_path: Path) -> None:
    paths = [_session(tmp_path, name) for name in ("a", "b", "c")]
    row, seen = past_sessions.row_of(paths[0], ""), []
    sources = find([*paths, _talk(tmp_path)], lambda *_: None)
    whole = past_sessions.sums(sources, "", 60, lambda done, of: seen.append((done, of)), Workplace(1))
    assert (whole.sessions, whole.requests, whole.left) == (3, 3 * row.requests, 0)
    assert whole.usd == pytest.approx(3 * row.usd)
    assert seen[-1] == (sum(map(os.path.getsize, [*paths, str(tmp_path / "talk.jsonl")])),) * 2
    assert past_sessions.sums(sources, "", -1, lambda *_: None, Workplace(1)).left == len(sources) - 1


def _session(folder: Path, name: str) -> str:
    """A session whose messages are its own."""
    path = spec_session(folder, session=name).path
    path.write_text(path.read_text().replace('"id": "msg_', f'"id": "msg_{name}_'))
    return str(path)


def _forked(folder: Path) -> tuple[list[str], str]:
    """(the paths of a session and of a fork of it, which has its lines and goes on by itself, that of the fork's whole conversation)."""
    parent, fork = Path(_compacted(folder / "one")), Written(folder / "two", session="fork")
    fork.path.write_text(parent.read_text())
    fork.now += 3_600 * 24
    fork.calls, fork.tokens, fork.last = 100, 90_000, json.loads(parent.read_text().splitlines()[-1])["uuid"]
    fork.say("rather that")
    for number in range(12):
        fork.call("Read", {"file_path": f"{fork.project}/src/{number % 6}.ts"}, f"export const other_{number % 6} = 1;\n" * 90)
    return [str(parent), str(fork.path)], str(fork.path)


def _sums(paths: list[str]) -> past_sessions.PastSums:
    sources = find(paths, lambda *_: None)
    return past_sessions.sums(sources, "", 600, lambda *_: None, Workplace(1))


def test_a_request_counts_once_though_a_fork_or_subagent_s_file_repeats_its_answer(tmp_path: Path) -> None:
    (parent, fork), whole = _forked(tmp_path)
    agent = tmp_path / "one" / "shop" / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text(Path(fork).read_text().replace('"isSidechain": false', '"isSidechain": true'))
    alone, together, each = _sums([parent]), _sums([parent, fork, str(agent)]), past_sessions.row_of(whole, "")
    assert together.requests == each.requests == alone.requests + 12
    assert (together.sessions + together.subagents, together.compactions) == (2, 1)
    assert together.usd == pytest.approx(each.usd)
    assert together.kept_out_tokens == each.kept_out_tokens > alone.kept_out_tokens
    assert together.summary_tokens == each.summary_tokens
    assert together.kept_tokens == alone.kept_tokens


def test_a_file_that_is_copied_whole_is_no_other_session(tmp_path: Path) -> None:
    path = Path(_compacted(tmp_path))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    assert _sums([str(path), str(copy)]) == _sums([str(path)])


@pytest.mark.parametrize("form", ["records", "counts"])
def test_a_request_of_codex_counts_once_though_a_fork_has_written_it_again(tmp_path: Path, form: str) -> None:
    parent = worked(form)
    fork = forked(parent)
    paths = [str(parent.write(tmp_path / "one")), str(fork.write(tmp_path / "two"))]
    alone, together = _sums(paths[:1]), _sums(paths)
    assert together.requests == alone.requests + 2
    assert together.usd > alone.usd
    left_out: list[str] = []
    billed = digests.of_sources(find(paths, lambda *_: None), lambda *_: None, lambda path, why: left_out.append(why), Workplace(1))
    assert sum(used["requests"] for digest in billed for used in digest["used"]) == together.requests
    assert left_out == []


def test_an_opencode_request_counts_once_though_a_fork_repeats_it_under_another_id(tmp_path: Path) -> None:
    parent, fork = opencode.worked(), opencode.worked("ses_7f3amadeup0002")
    fork.at += 3_600_000
    fork.answer({"type": "text", "text": "Rather so."}, read=9_900, written=40)
    place = str(database(tmp_path, parent, fork))
    alone, together = _sums([f"{place}/{parent.session}"]), _sums([place])
    assert (together.sessions, together.requests) == (2, alone.requests + 1)
    billed = digests.of_sources(find([place], lambda *_: None), lambda *_: None, lambda *_: None, Workplace(1))
    assert sum(used["requests"] for digest in billed for used in digest["used"]) == together.requests


def _talk(folder: Path) -> str:
    """A transcript without a request."""
    written = Written(folder, session="talk")
    written.say("hello")
    with pytest.raises(SessionSkipped):
        past_sessions.row_of(str(written.path), "")
    return str(written.path)
