"""The check of `popkit doctor` on the states of a project's sessions: whether a rebuild gives the same."""

from __future__ import annotations

import os

from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, store, stored_contexts
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from popkit_retention.core.text import listed
from popkit_retention.core.units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


SESSIONS = 3


def agreement(popkit_home: str, project: str, environ: Mapping[str, str]) -> Check:
    """Check that the states of this project's newest sessions, subagents included, equal what transcript and journal give."""
    sessions = _newest(popkit_home, project)
    if not sessions:
        return Check("state", OK, f"no session of {project} has a state yet", sessions=[])
    differing = []
    for session_id, contexts in sessions.items():
        site = Site(environ, session_id, project)
        differing += [(session_id, paths.agent_id, *_difference(site, paths)) for paths in contexts]
    worst = WARNING if any(level != OK for _, _, level, _ in differing) else OK
    summary = "; ".join(f"{id[:8]}{' subagent ' + agent[:8] if agent else ''} {text}" for id, agent, _, text in differing)
    facts = [{"session": session_id, "agent": agent, "level": level, "text": text} for session_id, agent, level, text in differing]
    advice = "`popkit context retention --session ID` reconciles a session with its transcript." if worst != OK else ""
    return Check("state", worst, summary, advice, sessions=facts)


def _newest(popkit_home: str, project: str) -> dict:
    """Return this project's newest sessions: id -> the stored contexts of each, the main thread first."""
    newest: dict = {}
    for paths in stored_contexts.contexts_of_project(popkit_home, project):
        if paths.session_id in newest or len(newest) < SESSIONS:
            newest.setdefault(paths.session_id, []).append(paths)
    return {session_id: sorted(contexts, key=lambda paths: paths.agent_id) for session_id, contexts in newest.items()}


def _transcript(site: Site, paths: store.ContextFiles) -> str:
    """Return the transcript of a context; "" where it is unknown."""
    main = site.session.transcript or "".join(projects.of_session(site.environ, paths.session_id)[:1])
    return projects.transcript_of_agent(main, paths.agent_id) if main and paths.agent_id else main


def _difference(site: Site, paths: store.ContextFiles) -> tuple:
    """Return (level, how a state and its rebuild compare)."""
    transcript = _transcript(site, paths)
    if site.data_rules:
        return OK, "is under a data rule and has stayed as it was"
    try:
        stored = stored_contexts.stored_state(paths)
        if stored is None or not os.path.isfile(transcript):
            return OK, "no longer has a transcript"
        expired = set(store.read_expired(paths, stored))
        rebuilt = rebuild(transcript, reconciling.journal_of(site, paths), site.rules_for, stored.session_id, stored.agent_id).state
    except ValueError as error:
        return WARNING, f"is corrupt ({error})"
    except OSError as error:
        return WARNING, f"cannot be read ({error.strerror})"
    behind = rebuilt.index - stored.index
    if behind > 0:
        return OK, f"is {counted(behind, 'call')} behind its transcript: reconciled when you next ask"
    if behind < 0:
        return OK, f"is {counted(-behind, 'call')} ahead of its transcript: not written yet, or rewound"
    have, should = shared_facts(stored), shared_facts(rebuilt)
    have["expired"], should["expired"] = expired, set(rebuilt.expired)
    different = [name for name in should if have.get(name) != should[name]]
    if different:
        return WARNING, f"differs from its transcript in {listed(different)}: reconciled when you next ask"
    return OK, f"equals its transcript and journal ({counted(stored.index, 'call')})"
