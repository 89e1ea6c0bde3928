"""The pane at the columns and rows that it has: as files, for a person to look at, and what holds at every width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.utils import text
from hooks.utils.helper import pane
from hooks.utils.reclaim import outlook
from hooks.utils.state import journal, store
from hooks.utils.views import report
from tests.views.test_clear_answers import COLD_S, Asking
from tests.views.test_clear_auto_answers import wandered
from tests.views.written import long_session

GOLDENS = Path(__file__).parent / "goldens"
SMALL = (68, 11)  # columns and rows of a pane in a terminal of 80x40
SIZES = [(40, 40), (49, 40), (60, 40), (76, 40), (100, 40), SMALL]


def _drawn(shown: dict[str, Any]) -> list[str]:
    """The rows of a page as the mod stacks them, but for its tabs."""
    deeds = [f"[ {deed['label']} ] {deed['sum']}" for deed in shown["deeds"]]
    return [*shown["head"], *deeds, *shown["lines"]]


def _page(name: str, asking: Asking, columns: int, rows: int, chosen: str = "", full: str = "") -> dict[str, Any]:
    site = asking.written.site(asking.home)
    found = report.build(outlook.look(site, str(asking.written.path), asking.written.now))
    return pane.page(name, found, chosen, text.width_of(columns, text.NARROWEST_PANE), rows, full=full)


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    """A session of which much would leave, and of which a result entered shorter."""
    written = wandered(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    id = asking.data("retention")["results"][-3]["id"]
    noted = journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], written.now - 60)
    store.journal(written.site(asking.home).paths(), noted)
    written.now += COLD_S
    return asking


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_first_page(asking: Asking, columns: int, rows: int, golden) -> None:
    drawn = _drawn(_page("now", asking, columns, rows))
    golden(GOLDENS / f"pane-{columns}x{rows}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [40, 72])
def test_the_first_page_has_the_plan_s_limits_below_the_context(asking: Asking, columns: int, golden) -> None:
    drawn = _drawn(_page("now", asking, columns, 40, full="5 h 62 %, full at 16:40 · 7 d 31 %"))
    golden(GOLDENS / f"pane-limits-{columns}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [49, 76])
def test_the_page_of_results(asking: Asking, columns: int, golden) -> None:
    drawn = _drawn(_page("results", asking, columns, 40, "toolu_0005"))
    golden(GOLDENS / f"pane-results-{columns}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [40, 49, 60, 76, 100, 110])
@pytest.mark.parametrize("cold_s", [0, COLD_S])
@pytest.mark.parametrize("session", [wandered, long_session])
def test_no_row_is_wider_than_the_pane_and_nothing_is_cut(tmp_path: Path, columns: int, cold_s: float, session) -> None:
    written = session(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += cold_s
    shown = _page("now", asking, columns, 40)
    drawn = _drawn(shown)
    assert max(map(text.width, [*shown["head"], *shown["lines"]])) <= columns, "what a deed comes to is wrapped beside its button"
    assert not any(line.endswith(text.ELLIPSIS) for line in drawn if not line.startswith(" "))
    told = " ".join(" ".join(drawn).split())
    wide = " ".join(" ".join(_drawn(_page("now", asking, 110, 40))).split())
    for reason in ("edited or committed", "at the next call", "is what leaves, placeholders subtracted"):
        assert (reason in told) == (reason in wide)


def test_what_matters_most_is_in_the_first_rows_however_few_there_are(asking: Asking) -> None:
    columns, rows = SMALL
    first = _drawn(_page("now", asking, columns, rows))[: rows - 1]
    assert first[0].startswith("Clear now: ")
    assert first[1].startswith("[ Clear ]")
    assert any(line.startswith("Context") for line in first)
    assert first[-2].split()[1] != "in", "results are named"
    assert " more" in first[-1], "and the others counted in the last row"
