"""After a compaction of a subagent its stored state follows its transcript, which the client writes bit by bit."""

from __future__ import annotations

from pathlib import Path

from popkit_retention.core.helper.arriving import Row, calls_of
from popkit_retention.core.helper.door import Door
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.state import reconciling, store
from tests.views.written import Written

AGENT = "a1"


def row_of(id: str) -> Row:
    return Row({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "so"}]})


def known(paths: store.ContextFiles) -> ContextState:
    stored = store.read_unlocked(paths)
    assert stored is not None
    return stored.state


def test_a_state_follows_with_the_next_call_not_with_what_comes_in_again(tmp_path: Path) -> None:
    written = Written(tmp_path / "p")
    main, written.path = str(written.path), Path(projects.transcript_of_agent(str(written.path), AGENT))
    written.path.parent.mkdir(parents=True)
    written.path.write_text("")
    written.say("go")
    again = written.read("a.py")
    site = written.site(tmp_path / "home")
    paths = site.paths(AGENT)
    assert reconciling.rebuild_if_small(site, paths, str(written.path))
    environ = {"POPKIT_HOME": str(tmp_path / "home")}
    door = Door(environ, written.session, main, written.project, lambda work, *what: work(*what))
    door.compacted(AGENT)
    written.compact()  # and nothing yet of what stays behind it
    door.row(row_of(again), {}, AGENT, written.project)
    assert again in known(paths).live
    door.row(row_of("new"), calls_of({"new": {"tool": "Bash", "input": {"command": "ls"}}}), AGENT, written.project)
    assert known(paths).epoch == 1
