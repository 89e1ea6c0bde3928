"""Many processes change the policies of both domains at once: none of the changes is lost, and the domains never mix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.governance.policies import DEFAULT_POLICY, DOMAINS
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function


def _raced(forks: Forks, home: Path, processes: int, often: int) -> list[list[list]]:
    """What each process was answered, in its own order."""
    works = [Function("tests.governance.operations:configure_often", [number, often]) for number in range(processes)]
    ended = all_do(forks, works, {"POPKIT_HOME": str(home)})
    return [[json.loads(line) for line in done.out.splitlines()] for done in ended]


def _assert_explained(home: Path, answers: list[list[list]], total: int) -> None:
    with Controller({"POPKIT_HOME": str(home)}) as controller:
        policies = controller.policies()
        assert policies["revision"] == total
        assert controller.verify()["ok"]
        entries = controller.log(most=None)["entries"][::-1]
    assert [(entry["number"], entry["details"]["revision"]) for entry in entries] == [(at, at) for at in range(1, total + 1)]
    by_revision = {revision: (domain, mine, policy) for each in answers for revision, domain, mine, policy in each}
    assert len(by_revision) == total, "no two were told the same revision"
    before = dict.fromkeys(DOMAINS, DEFAULT_POLICY.to_json())
    for entry in entries:
        domain, mine, policy = by_revision[entry["details"]["revision"]]
        after = entry["details"]["policies"]
        assert entry["domain"] == domain
        assert after == {**before, domain: {**before[domain], **mine}}, "a change is of its own key and domain, on top of the one before"
        assert after[domain] == policy
        before = after
    assert {domain: policies[domain] for domain in DOMAINS} == before, "the last of the log is what is in force"
    for each in answers:
        revisions = [revision for revision, *_ in each]
        assert revisions == sorted(revisions)
    for domain in DOMAINS:
        assert policies[domain]["keep_session_ids"][0].startswith(domain + "-")


def test_processes_that_configure_at_once_lose_no_change_and_mix_no_domains(forks: Forks, home: Path):
    _assert_explained(home, _raced(forks, home, 4, 10), 80)


@pytest.mark.slow
def test_sixteen_processes_that_configure_a_hundred_times_each_lose_no_change_and_mix_no_domains(forks: Forks, home: Path):
    _assert_explained(home, _raced(forks, home, 16, 100), 3_200)
