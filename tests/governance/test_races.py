"""Many processes at once: changes of policies are not lost and the domains never mix; a domain is collected while another process holds
what is about to be deleted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.governance.policies import DEFAULT_POLICY, DOMAINS
from tests.governance.case import KINDS, Case
from tests.governance.stored import NOW
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


@pytest.mark.parametrize("kind", KINDS)
def test_what_many_collect_is_deleted_and_logged_once_and_nothing_after_it_was_held(forks: Forks, tmp_path: Path, kind: str, count):
    case = Case(tmp_path, kind, 40)
    # The collections take the oldest first, the holds come from the other end.
    due = [id for id in case.ids if id in case.due]
    collects = Function("tests.governance.collectors:gc", [str(case.home), kind, 5, NOW])
    holds = Function("tests.governance.operations:hold", [kind, due[::-1], NOW])
    all_do(forks, [collects] * count(3, 12) + [holds], case.world())
    with case.desk() as desk:
        case.check_log(desk)
        left = set(case.data(desk))
        assert left >= case.ready | case.young
        marked = Counter(id for ids in desk.logged("marked") for id in ids)
        assert marked == Counter(case.due | case.ready), "nothing is marked twice"
        held: set[str] = set()
        gone: set[str] = set()
        for entry in reversed(desk.log.entries()):
            held.update(set(entry.ids) - gone if entry.action == "held" else ())
            gone.update(entry.ids if entry.action == "deleted" else ())
        assert not held & gone, "what was held in time is not deleted any more"
        assert held <= left
        desk.gc(NOW)
        assert set(case.data(desk)) == held | case.ready | case.young
    case.check_folder()
