"""The checks of `popkit doctor` on a project's sessions: the mod's helper, and whether states equal what
transcript and journal give. Asks the helper over its socket; changes nothing."""

from __future__ import annotations

import json
import os
import time

from hooks.utils.config import layers
from hooks.utils.hosts.transcripts import projects
from hooks.utils.io import files, home, hook_log, volatile
from hooks.utils.io.findings import OK, WARNING, Check
from hooks.utils.policy.context import shared_facts
from hooks.utils.state import asking, data_rules, reconciling, sockets, store, stored_contexts
from hooks.utils.state.rebuild import rebuild
from hooks.utils.state.site import Site
from hooks.utils.text import clean, listed
from hooks.utils.units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FIRST_CLIENT = (2, 1, 326)
LIMIT_S = 1.0
FAULTY, FAULTY_DAYS = "messages", 7  # of the log of failures: what agents sent
SESSIONS = 3
_SESSION = "CLAUDE_CODE_SESSION_ID"
_OURS = ("serve", "door")
_NO_PLACE = "nothing of any session is kept, as this system offers no folder in memory"
_FROM_BEFORE = " What was stored of it before the rule came up is still on disk: `popkit restore prune` deletes its contents."
_IF_NONE = 'If none applies, say so in your own configuration: "data_rules": [].'


def helper(popkit_home: str, project: str, environ: Mapping[str, str], client: str, version: str) -> Check:
    """Check the helper of the session. `client`: its version, "" where it is unknown; `version`: ours."""
    failed = hook_log.count_failures(popkit_home, _OURS)
    facts: dict[str, Any] = {"modules": None, "running": False, "failures": failed}
    note = f"; {counted(failed, 'failure')} of it in the log" if failed else ""
    numbers = tuple(int(number) for number in client.split(".")) if client else ()
    if numbers:
        facts["modules"] = numbers >= FIRST_CLIENT
    if facts["modules"] is False:
        first = ".".join(map(str, FIRST_CLIENT))
        summary = f"Claude Code {client} cannot run the code of plugins ({first} can), so results enter unchanged"
        return Check("helper", OK, summary + note, **facts)
    session_id = newest(popkit_home, project, environ)
    path = _socket(popkit_home, session_id)
    if not path:
        if not environ.get(_SESSION):  # whether a session is running is unknown
            return Check("helper", OK, f"none runs now; each session starts its own{note}", **facts)
        advice = "Restart the session with --resume. Lines with `serve` in the log of hooks say what went wrong."
        return Check("helper", WARNING, f"none runs for session {session_id[:8]}, so its results enter unchanged{note}", advice, **facts)
    health = _health(path)
    if health is None:
        advice = "Nothing is lost: results enter unchanged. Restart the session with --resume."
        return Check(
            "helper", WARNING, f"the one of session {session_id[:8]} does not answer within {LIMIT_S:.0f} s{note}", advice, **facts
        )
    facts.update(running=True, session=session_id, **health)
    summary = f"runs for session {session_id[:8]}: {_in_words(health)}{note}"
    if health.get("version") != version:
        advice = "It was started before the update. Restart the session with --resume."
        return Check("helper", WARNING, f"{summary}; it is {clean(str(health.get('version')))}, this is {version}", advice, **facts)
    return Check("helper", OK, summary, **facts)


def _in_words(health: dict[str, Any]) -> str:
    parts = [f"{counted(health['rows'], 'result')}, {health['rewritten']:,} of them entered shorter"]
    parts += [f"{health['p50_ms']:g} ms each (median)"] if health["p50_ms"] is not None else []
    parts += [f"{health['rss_mb']:g} MB"] if health["rss_mb"] is not None else []
    return ", ".join(parts)


def messages(popkit_home: str, now: float) -> list[Check]:
    """Check whether an agent or a proxy has sent messages in the last days that a provider would refuse; [] where it never has."""
    try:
        lines = [line.split(" ", 3) for line in hook_log.logged_failures(popkit_home) if line.split(" ")[1:2] == [FAULTY]]
    except OSError:
        return []  # the check of the log reports it
    if not lines:
        return []
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - FAULTY_DAYS * 86_400))
    fresh = [line for line in lines if line[0] >= since]
    facts: dict[str, Any] = {"conversations": len(fresh)}
    if not fresh:
        return [Check("messages", OK, f"no agent has sent any that a provider would refuse for {FAULTY_DAYS} days", **facts)]
    summary = f"{counted(len(fresh), 'conversation')} of agents went out that a provider would refuse, the newest: {clean(fresh[-1][-1])}"
    advice = "Fix the list where it is built: the field popkit of an answer and the proxy's header x-popkit name each fault."
    return [Check("messages", WARNING, summary, advice, **facts)]


def newest(popkit_home: str, project: str, environ: Mapping[str, str]) -> str:
    """Return the session that runs us, else the newest of the project; "" for none."""
    if environ.get(_SESSION):
        return environ[_SESSION]
    return next((paths.session_id for paths in stored_contexts.contexts_of_project(popkit_home, project)), "")


def _socket(popkit_home: str, session_id: str) -> str:
    """Return the socket of the session's helper; "" for none."""
    return next(iter(sockets.of_session(popkit_home, session_id)), "") if session_id else ""


def _health(path: str) -> dict[str, Any] | None:
    """Return the helper's answer to /health; None where it is not understood."""
    try:
        value = json.loads(asking.ask(path, "/health", b"{}", LIMIT_S))
    except (OSError, ValueError):
        return None
    known: dict[str, Any] = {
        "version": str,
        "rows": int,
        "rewritten": int,
        "p50_ms": (float, int, type(None)),
        "rss_mb": (float, int, type(None)),
    }
    if not isinstance(value, dict) or not all(isinstance(value.get(name), kind) for name, kind in known.items()):
        return None
    return {name: value[name] for name in known}


def rules_on_data(popkit_home: str, project: str, environ: Mapping[str, str]) -> list[Check]:
    """Check which data rules keep PopKit from writing anything to disk: those that are configured, and those of sessions; [] for none."""
    configured = layers.load(home.plugin_root(), popkit_home, project).get("data_rules")
    of_sessions = {name: data_rules.held({}, popkit_home, name, []) for name in stored_contexts.folders(popkit_home)}
    sessions = sorted(name for name, rules in of_sessions.items() if rules)
    here = environ.get(_SESSION, "")
    site = Site(environ, here, project)
    current = site.data_rules if here else ()
    checks = []
    if configured:
        kept = "what is kept of a session is held in memory and gone at its end" if volatile.is_possible() else _NO_PLACE
        said = f"{kept}: the configuration names " + listed([clean(str(rule)) for rule in configured], 3)
        checks.append(Check("data rules", OK, said, rules=configured))
    elif current:
        said = data_rules.in_words(current, site.is_in_memory) + (_FROM_BEFORE if _has_more(popkit_home, here) else "")
        checks.append(Check("data rules", OK, clean(said), rules=list(current)))
        if data_rules.UNKNOWN in current:
            checks[-1] = Check("data rules", WARNING, checks[-1].text, _IF_NONE, rules=list(current))
    if sessions:
        said = f"{counted(len(sessions), 'session')} under a data rule, of which nothing is kept on disk"
        checks.append(Check("data rules", OK, said, sessions=sessions))
    return checks


def _has_more(popkit_home: str, session_id: str) -> bool:
    """Return whether the folder of a session holds more than its rules."""
    return any(name != data_rules.NAME for name in files.names(home.session_folder(popkit_home, session_id)))


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
    main = site.session.get("transcript")
    if not isinstance(main, str):
        return ""
    return projects.transcript_of_agent(main, paths.agent_id) if paths.agent_id else main


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
