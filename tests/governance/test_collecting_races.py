"""Several processes collect the same domain at once, while another one holds what they are about to delete."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.governance.case import KINDS, Case
from tests.governance.stored import NOW
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function


@pytest.mark.parametrize("kind", KINDS)
def test_what_many_collect_is_deleted_and_logged_once_and_nothing_after_it_was_held(forks: Forks, tmp_path: Path, kind: str, count):
    case = Case(tmp_path, kind, 40)
    # The collections take the oldest first, the holds come from the other end.
    due = [id for id in case.ids if id in case.due]
    collects = Function("tests.governance.collecting:gc", [str(case.home), kind, 5, NOW])
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
