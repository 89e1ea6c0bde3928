"""Governance for asyncio says and does what the controller does."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

from popkit_retention.governance.asynchronous import AsyncGovernance
from popkit_retention.governance.controller import Controller


def test_tasks_share_governance(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "POPKIT_HOME": str(tmp_path / "popkit")}

    async def worked() -> list[dict[str, object]]:
        governance = AsyncGovernance(environ)
        return await asyncio.gather(*(governance.configure("memory", {"limit": limit}) for limit in range(100, 110)))

    revisions = {answer["revision"] for answer in asyncio.run(worked())}
    assert len(revisions) == 10
    with Controller(environ) as controller:
        assert len(controller.history("memory")["versions"]) == 10


def test_it_has_every_word_of_the_controller() -> None:
    words = {name for name, value in vars(Controller).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert words == {name for name, value in vars(AsyncGovernance).items() if inspect.iscoroutinefunction(value)}
