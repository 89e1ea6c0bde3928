"""Where a host keeps transcripts, and what it names them after."""

from __future__ import annotations

from popkit_retention.core.hosts.transcripts import projects


def test_a_transcript_s_path_tells_its_session_and_its_subagent() -> None:
    main = "/c/projects/-w-subagents/abc-def.jsonl"
    assert projects.context_of(main) == ("abc-def", "")
    assert projects.context_of(projects.transcript_of_agent(main, "a1")) == ("abc-def", "a1")
