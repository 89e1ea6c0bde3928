"""What PopKit would have done by itself in past sessions is what the lab counts, in the dollars of the bill."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from popkit_retention.bill import digests
from popkit_retention.bill.sums import usd_of
from popkit_retention.lab import replay_policies, sent_requests
from popkit_retention.operations import past_sessions
from popkit_retention.parallel import Skipped, Where, find
from tests.cli.made_up_afternoon import SAMPLE
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
    path.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    return str(path)


@pytest.mark.parametrize("make", [_made_up, _compacted, lambda folder: str(spec_session(folder).path)])
def test_the_net_is_that_of_the_default_policy_beside_the_hosts_own_compactions(tmp_path: Path, make) -> None:
    path = make(tmp_path)
    row = past_sessions.row_of(path, "")
    session = sent_requests.read(path)
    ttl_s = max(request.usage.cache_ttl_s for request in session.requests)
    assert row["usd"] == pytest.approx(
        sum(
            sum((usd_of(used, past_sessions.models()) or {}).values())
            for used in digests.digest_of(path, Path(path).stat().st_size)["used"]
        )
    )
    assert row["kept_out_usd"] + row["compactions_usd"] == pytest.approx(row["usd"] * (1 - _share("default", path, ttl_s)), abs=1e-9)


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_a_compaction_that_was_recorded_counts_with_its_summary(tmp_path: Path, trigger: str) -> None:
    path = _compacted(tmp_path, trigger)
    row, steps = past_sessions.row_of(path, ""), sent_requests.read(path).steps
    assert (row["compactions"], row["summary_tokens"]) == (1, round(len("A summary: " + "it went well. " * 60) / 2.1))
    assert row["kept_tokens"] > 2 * len("and say what you find " * 20) / 2.1, "the prompt stands word for word"
    until = [kind for kind, *_ in steps].index("compact")
    assert row["kept_tokens"] < sum(what.tokens for kind, what, *_ in steps[:until] if kind == "add"), "and nothing that came later counts"


def test_without_a_compaction_and_a_cold_cache_only_the_door_counts(tmp_path: Path) -> None:
    row = past_sessions.row_of(str(spec_session(tmp_path).path), "")
    assert row["kept_out_tokens"] > 0
    assert (row["compactions"], row["kept_tokens"], row["summary_tokens"], row["compactions_usd"], row["cold_usd"]) == (0, 0, 0, 0, 0)


def test_the_configuration_of_each_project_holds(tmp_path: Path) -> None:
    written = spec_session(tmp_path, project=str(tmp_path / "shop"))
    assert past_sessions.row_of(str(written.path), "")["kept_out_results"] == 2
    (tmp_path / "shop" / ".claude").mkdir(parents=True)
    (tmp_path / "shop" / ".claude" / "retention-config.json").write_text(json.dumps({"retention": {"say_once": "off", "shape": "off"}}))
    assert past_sessions.row_of(str(written.path), "")["kept_out_results"] == 0


def test_sums_are_those_of_the_sessions_and_the_rest_is_named(tmp_path: Path) -> None:
    paths = [str(spec_session(tmp_path, session=name).path) for name in ("a", "b", "c")]
    row, seen = past_sessions.row_of(paths[0], ""), []
    sources = find([*paths, _talk(tmp_path)], lambda *_: None)
    whole = past_sessions.sums(sources, "", 60, lambda done, of: seen.append((done, of)), Where(1))
    assert (whole["sessions"], whole["requests"], whole["left"]) == (3, 3 * row["requests"], 0)
    assert whole["usd"] == pytest.approx(3 * row["usd"])
    assert seen[-1] == (sum(map(os.path.getsize, [*paths, str(tmp_path / "talk.jsonl")])),) * 2
    assert past_sessions.sums(sources, "", -1, lambda *_: None, Where(1))["left"] == len(sources) - 1


def _talk(folder: Path) -> str:
    """A transcript without a request."""
    written = Written(folder, session="talk")
    written.say("hello")
    with pytest.raises(Skipped):
        past_sessions.row_of(str(written.path), "")
    return str(written.path)
