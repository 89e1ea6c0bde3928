"""What people read on the page: whole verdicts, names that tell sessions apart, words for what programs call by names and numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.dashboard.page.homes import PLACE, SESSION, Home
from tests.dashboard.page.served import NARROW, VIEWS, WIDE, Visit
from tests.reclaim.shops import Talk, spoke

Visits = Callable[..., Visit]
LONG = "Wait 4 min 30 s: while the prompt cache is warm, a clear of ~123,000 tokens costs more than it saves, and it is cold soon"
# What a person is shown of it: without code, what is folded away, and what belongs to a project.
WORDS = """() => {
  const words = [];
  const walk = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const { parentElement: of, data } = walk.currentNode;
    if (!of.closest("code, pre, option, .bar-label, .row, .unseen, .foot") && of.checkVisibility()) words.push(data);
  }
  return words.join("\\n");
}"""
FOR_PROGRAMS = re.compile(
    r"\b[a-z]+_[a-z_]+\b|\b(?:read|run|edit|search):\w|\btrue\b|\bfalse\b|\bnull\b|undefined|\bNaN\b|\b[0-9a-f]{8}-[0-9a-f]{4}-"
)


def test_a_verdict_is_whole_in_the_list(visit: Visits) -> None:
    seen = visit()
    answer = seen.fetch("/api/sessions?limit=100&offset=0")
    for row in answer["sessions"]:
        row["verdict"] = {"kind": "wait", "words": LONG}
    seen.page.route(re.compile(r"/api/sessions\?"), lambda route: route.fulfill(json=answer))
    seen.page.reload()
    verdict = seen.page.locator(".row-verdict")
    for place, size in itertools.product(("", PLACE), (WIDE, NARROW)):
        seen.page.set_viewport_size(size)
        seen.page.goto(f"{seen.page.url.split('#')[0]}{place}")
        expect(verdict).to_have_text(LONG)
        if place and size == NARROW:
            continue  # the list is not there beside a session
        expect(verdict).to_be_visible()
        assert verdict.evaluate("each => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight")
        assert verdict.evaluate("each => getComputedStyle(each).textOverflow") == "clip"
        assert not seen.scrolls_sideways()


def test_sessions_without_a_title_are_told_apart(home: Home, visit: Visits) -> None:
    for number in range(2):
        talk = Talk(str(home.project), session_id=f"mute-{number}")
        talk.say("Hello.")
        path = home.transcript.with_name(f"mute-{number}.jsonl")
        talk.write(path)
        spoke(path, home.at - 7_200 * (number + 1))
    titles = visit().page.locator(".row-words", has_text="Untitled session, ")
    expect(titles).to_have_count(2)
    assert len(set(titles.all_inner_texts())) == 2


def for_programs(seen: Visit, home: Home) -> list[str]:
    """What is shown that no person says, but for a command that is to be typed and the home's own folder."""
    words = seen.page.evaluate(WORDS).replace(str(home.folder), "").replace(f"/resume {SESSION}", "")
    return [
        words[max(0, match.start() - 40) : match.end() + 40] for match in FOR_PROGRAMS.finditer(words) if match[0] not in home.folder.name
    ]


def test_nothing_is_put_in_the_words_of_programs(home: Home, visit: Visits) -> None:
    home.clear()
    seen = visit()
    for view in VIEWS:
        seen.view(view)
        assert for_programs(seen, home) == [], view
    seen.page.goto(f"{seen.page.url.split('#')[0]}{PLACE}")
    expect(seen.page.locator(".bar-row").first).to_be_visible()
    seen.page.get_by_role("button", name=re.compile("^T1 Read old.ts")).click()
    expect(seen.page.get_by_role("complementary", name="Why T1")).to_contain_text("Tier")
    assert for_programs(seen, home) == []
    seen.page.get_by_text("Terminal view").click()
    expect(seen.page.locator(".panel code")).to_have_text(f"claude --resume {SESSION}")


def test_a_model_is_shown_by_its_name(visit: Visits) -> None:
    names = {
        "claude-opus-4-6": "Opus 4.6",
        "claude-sonnet-4-5-20250929": "Sonnet 4.5",
        "claude-opus-5": "Opus 5",
        "claude-sonnet-4-20250514[1m]": "Sonnet 4",
        "claude-3-5-haiku-20241022": "claude-3-5-haiku-20241022",
        "gpt-x": "gpt-x",
    }
    shown = visit().page.evaluate(
        "async (ids) => { const { modelOf } = await import('/format.js'); return ids.map(modelOf); }", list(names)
    )
    assert dict(zip(names, shown)) == names


def test_rows_with_the_same_words_merge_and_a_row_a_person_touched_stands_alone(visit: Visits) -> None:
    bar = {"tool": "Bash", "label": "Bash ls", "state": "expired", "tokens": 10, "to_call": 9, "note": "expired at T9", "plan": ""}
    changes = [{}, {}, {}, {"pinned": True}, {}, {}, {"plan": "clear"}, {"state": "live", "note": "until T20"}]
    bars = [{**bar, "number": at, "from_call": at, **changed} for at, changed in enumerate(changes, 1)]
    folded = """async ([bars, unfolded]) => (await import('/views/timeline.js')).folded(bars, new Set(unfolded)).map(
      ({ number, last, label, tokens, note }) => [number, last ?? number, label, tokens, note])"""
    page = visit().page
    alone = [[number, number, "Bash ls", 10, bars[number - 1]["note"]] for number in range(1, 9)]
    assert page.evaluate(folded, [bars, []]) == [[1, 3, "3 times Bash ls", 30, "expired"], *alone[3:]]
    assert page.evaluate(folded, [bars, [1, 2, 3]]) == alone
