"""What compactions lost as people read it: in the answer to `why`, in the pane, and in any number of columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import text
from popkit_retention.core.helper.drawing import NOW, SAVED, PaneRequest, draw
from popkit_retention.core.operations import context_words
from popkit_retention.core.views import losses
from tests.views.written import Written

GOLDENS = Path(__file__).parent / "goldens"
RULE = "Never touch src/generated."


@pytest.fixture
def compacted(tmp_path: Path) -> Written:
    """A session with a rule of the person's, which the host's summary leaves out."""
    written = Written(tmp_path / "projects")
    written.say(f"Fix the login. {RULE}")
    written.read("src/auth.ts")
    written.bash_fails("npm test", "FAIL src/auth.test.ts\nTests: 1 failed, 11 passed")
    written.compact("auto")
    written._line("user", {"role": "user", "content": "The person wants the login fixed."}, isCompactSummary=True)
    written.ends()
    return written


def why(written: Written, home: Path, words: str = "why") -> str:
    return context_words.answer(words, written.site(home), str(written.path), written.now)


def drawn(written: Written, home: Path, page: str) -> str:
    return "\n".join(draw(written.site(home), str(written.path), PaneRequest(page, "", 90, 60, True), None, written.now)["pane"]["lines"])


def test_why_lists_what_the_hosts_summary_lost(compacted: Written, tmp_path: Path, golden) -> None:
    shown = why(compacted, tmp_path / "home")
    golden(GOLDENS / "why-lost.txt", shown.replace(str(compacted.path), "TRANSCRIPT"))


def test_the_data_of_why_has_the_list(compacted: Written, tmp_path: Path) -> None:
    [lost] = json.loads(why(compacted, tmp_path / "home", "why --json"))["lost"]
    assert lost["rows"][0]["words"][0] == RULE
    assert lost["rows"][0]["ways"] == [{"line": 1, "entry": lost["rows"][0]["ways"][0]["entry"], "handle": ""}]


def test_the_pane_shows_the_list_beside_what_was_saved_and_nowhere_else(compacted: Written, tmp_path: Path) -> None:
    saved = drawn(compacted, tmp_path / "home", SAVED)
    assert "What the last compaction lost" in saved
    assert RULE in saved
    assert "compaction lost" not in drawn(compacted, tmp_path / "home", NOW)


def test_before_a_compaction_nothing_is_said_of_losses(tmp_path: Path) -> None:
    written = Written(tmp_path / "projects")
    written.say(RULE)
    written.ends()
    assert "lost" not in why(written, tmp_path / "home")
    assert "compaction lost" not in drawn(written, tmp_path / "home", SAVED)


@pytest.mark.parametrize(("handle", "is_told"), [("", True), ("k7m2qdab", False)])
def test_how_a_line_is_read_is_told_where_a_row_shows_one(handle: str, is_told: bool) -> None:
    row = {"kind": "called", "label": "a.py", "words": ["b"], "count": 1, "ways": [{"line": 7, "entry": "", "handle": handle}]}
    assert bool(losses.hints({"transcript": "t.jsonl", "rows": [row]})) == is_told  # type: ignore[typeddict-item,list-item]


words = st.lists(st.sampled_from(["price_of_everything", "src/オンライン/cart.ts", "x" * 150, RULE]), max_size=4)
rows = st.lists(
    st.builds(
        lambda kind, label, words, count, lines: {
            "kind": kind, "label": label, "words": words, "count": len(words) + count,
            "ways": [{"line": line, "entry": "prt_0001", "handle": ""} for line in lines],
        },
        st.sampled_from(["said", "error", "tasks", "wrote", "called", "added"]),
        st.sampled_from(["/home/dana/shop/src/very/deep/folder/cart.ts", "Bash npm test", ""]),
        words, st.integers(0, 4_000), st.lists(st.one_of(st.none(), st.integers(1, 99_999)), min_size=1, max_size=3),
    ),
    max_size=6,
)  # fmt: skip


@given(rows, st.integers(60, 160))
def test_each_row_is_one_line_of_no_more_than_the_columns(rows: list, columns: int) -> None:
    shown = text.laid_out(losses.rows({"rows": rows}), columns)  # type: ignore[typeddict-item]
    assert len(shown) == len(rows)
    assert all(text.width(line) <= columns for line in shown)
