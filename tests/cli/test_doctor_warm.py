"""`popkit doctor` on keeping the prompt cache warm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.io.storage import Check
from popkit_retention.cli import doctor_session
from tests.views.written import Written, spec_session


class Here:
    """A session of a project, with a configuration of the user's."""

    def __init__(self, folder: Path, **config: object) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        (self.home / "retention-config.json").write_text(json.dumps({"retention": config}))
        self.written: Written = spec_session(folder / "projects")
        self.written.ends()
        site = self.written.site(self.home)
        site.remember(project=self.written.project, transcript=str(self.written.path))

    def checks(self) -> list[Check]:
        environ = {"POPKIT_HOME": str(self.home), "CLAUDE_CODE_SESSION_ID": self.written.session}
        return doctor_session.keep_warm(str(self.home), self.written.project, environ, self.written.now)


def test_where_it_is_not_configured_nothing_is_said(tmp_path: Path) -> None:
    assert Here(tmp_path).checks() == []


def test_where_it_works_it_says_so(tmp_path: Path) -> None:
    (check,) = Here(tmp_path, keep_warm="on").checks()
    assert (check.level, check.facts["ended"]) == ("ok", "")
    assert check.text.startswith("on, 0 of at most 2 sent")


@pytest.mark.parametrize(("model", "for_an_hour", "ended"), [("claude-opus-4-8", True, "hour"), ("claude-unheard-of-1", False, "unpriced")])
def test_where_nothing_can_be_sent_it_says_why_and_what_to_do(tmp_path: Path, model: str, for_an_hour: bool, ended: str) -> None:
    here = Here(tmp_path, keep_warm="on")
    here.written.model, here.written.for_an_hour = model, for_an_hour
    here.written.say("more")
    here.written.ends()
    (check,) = here.checks()
    assert (check.level, check.facts["ended"]) == ("warning", ended)
    assert check.advice
