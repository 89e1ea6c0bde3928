"""A dashboard in this process, whose clock a test sets, and a page in a browser that goes by the same clock."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.dashboard.board import Served
from tests.dashboard.page.served import Visit
from tests.reclaim.shops import spoke, worked

RUNS_ON_S = 3_600.0


class Clocked(Served):
    """A served Board with a session whose prompt cache is warm, and which runs for longer than that."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        talk = worked(str(self.shop.project))
        self.shop.write(talk)
        self.shop.at = talk.now
        spoke(self.shop.transcript, talk.now + RUNS_ON_S)

    @property
    def address(self) -> str:
        """What a browser opens."""
        return self.access.address

    def visit(self, browser: Browser, hash: str = "") -> Visit:
        """A page whose clock is the server's."""
        return Visit(browser, self, hash, clock=self.shop.at)

    def pass_by(self, seconds: float, seen: Visit) -> None:
        """So much time passes, for server and page."""
        self.shop.at += seconds
        seen.page.clock.fast_forward(round(seconds * 1000))
