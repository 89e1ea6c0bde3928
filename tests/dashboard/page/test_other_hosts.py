"""Sessions of other hosts as a person sees them: in the list and on their own page, by the name of their host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dashboard.page.homes import Home
from tests.dashboard.page.served import Visit
from tests.hosts import stores
from tests.hosts.rollouts import SESSION as ROLLOUT
from tests.hosts.rollouts import worked as rollout
from tests.hosts.test_opencode import worked as opencode


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One project in which three hosts have worked."""
    opened = Home(tmp_path).with_session()
    project, folder = str(opened.project), Path(opened.environ()["HOME"])
    stores.database(folder / ".local" / "share" / "opencode", opencode(project=project))
    path = folder / ".codex" / "sessions" / "2026" / "09" / "21" / f"rollout-2026-09-21T10-00-00-{ROLLOUT}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(rollout(project=project).data())
    return opened


def test_they_stand_in_the_list_and_open(visit: Callable[..., Visit]) -> None:
    page = visit("#/sessions").page
    page.get_by_text("shop · OpenCode").wait_for()
    page.get_by_text("shop · Codex", exact=True).wait_for()
    assert page.get_by_text("3 in all").is_visible()
    page.get_by_text("shop · OpenCode").click()
    page.get_by_text("OpenCode keeps this session itself").first.wait_for()
    assert page.locator(".session-head .note").inner_text().startswith("shop · OpenCode · 4 tool calls")
    assert page.locator(".verdict button").count() == 0
