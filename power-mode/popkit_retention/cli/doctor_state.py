"""What `popkit doctor` looks at in our own folder: permissions, failures of hooks, the configuration, and whether the state of a session
is what its transcript and journal give. Changes nothing but its own memory of what it has told."""

from __future__ import annotations

import os
import shutil
import stat

from hooks.utils.edges import failures, files, home
from hooks.utils.edges.codec import dumps, loads
from hooks.utils.host import agents
from hooks.utils.policy.context import shared_facts
from hooks.utils.state import live, peek, store
from hooks.utils.state.rebuild import rebuild
from hooks.utils.text import counted, listed

from ..operations import holdings
from . import config_checking
from .check import OK, PROBLEM, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MEMORY = "doctor.json"
SESSIONS = 3
FREE_BYTES = 16 * 1024 * 1024


def state_folder(popkit_home: str) -> Check:
    """Whether our folder is ours, private and writable."""
    facts: dict[str, Any] = {"folder": popkit_home}
    if not os.path.isdir(popkit_home):
        if os.path.lexists(popkit_home):
            return Check("state folder", PROBLEM, f"{popkit_home} is not a folder", "Move it away.", **facts)
        return Check("state folder", OK, f"{popkit_home} does not exist yet. The first hook creates it", **facts)
    if not os.access(popkit_home, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            "state folder", PROBLEM, f"{popkit_home} cannot be written", "Make it yours, or set POPKIT_HOME to another folder.", **facts
        )
    if shutil.disk_usage(popkit_home).free < FREE_BYTES:
        return Check("state folder", PROBLEM, f"the disk of {popkit_home} is full", "Make room.", **facts)
    size, open_to_others, corrupt = _survey(popkit_home)
    parts = holdings.parts(popkit_home)
    facts.update(bytes=size, parts={name: part.to_json() for name, part in parts.items()}, open_to_others=open_to_others, corrupt=corrupt)
    told = f"{popkit_home}: {holdings.size(size)}" + (f" ({holdings.told(parts)})" if size else "")
    if open_to_others:
        advice = f"cd {popkit_home} && chmod go= {open_to_others[0]}" if holdings.is_shared(popkit_home) else f"chmod -R go= {popkit_home}"
        return Check("state folder", WARNING, f"{told}; others can read {listed(open_to_others, 3)}", advice, **facts)
    if corrupt:
        advice = "They were rebuilt from the transcripts; the *.corrupt files can be deleted."
        return Check("state folder", WARNING, f"{told}; {counted(len(corrupt), 'state')} set aside as corrupt", advice, **facts)
    return Check("state folder", OK, f"{told}, private", **facts)


def _survey(popkit_home: str) -> tuple:
    """(bytes, what others can read, corrupt files) of what is ours below our folder."""
    size, open_to_others, corrupt = 0, [], []
    ours = [path for path in holdings.paths(popkit_home) if holdings.part_of(popkit_home, path)]
    for path in sorted({popkit_home, *ours, *map(os.path.dirname, ours)}):
        try:
            found = os.lstat(path)
        except OSError:
            continue  # a hook has just replaced it
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and not stat.S_ISLNK(found.st_mode):
            open_to_others.append(os.path.relpath(path, popkit_home))
        if not stat.S_ISDIR(found.st_mode):
            size += found.st_size
        if path.endswith(".corrupt"):
            corrupt.append(os.path.relpath(path, popkit_home))
    if holdings.is_shared(popkit_home):  # its rights are not ours to judge
        open_to_others = [name for name in open_to_others if name != os.curdir]
    return size, open_to_others, corrupt


def hook_errors(popkit_home: str) -> Check:
    """The failures of hooks since the last time this was asked, and where their log is."""
    log = failures.log_path(popkit_home)
    try:
        lines = failures.failures(popkit_home)
    except OSError as error:
        return Check("hook errors", PROBLEM, f"{log} cannot be read: {error.strerror}", "Make it yours.", log=log)
    stamps = [line.split(" ", 1)[0] for line in lines]
    newest, seen = _told(popkit_home)
    fresh = sum(stamp > newest for stamp in stamps) + max(0, stamps.count(newest) - seen)
    facts: dict[str, Any] = {"failures": len(lines), "new_failures": fresh, "log": log}
    if stamps:
        _remember(popkit_home, max(stamps), stamps.count(max(stamps)))
    if not lines:
        return Check("hook errors", OK, "none in the log", **facts)
    if not fresh:
        return Check("hook errors", OK, f"none since last time; {counted(len(lines), 'failure')} in {log}", **facts)
    told = f"{counted(fresh, 'failure')} since last time, the newest: {lines[-1]}"
    return Check("hook errors", WARNING, told, f"{log} has the places in the code; no session was harmed. A report is welcome.", **facts)


def _told(popkit_home: str) -> tuple[str, int]:
    """(stamp of the newest failure that was told, how many bore it)."""
    try:
        value: Any = loads(files.read_text(os.path.join(popkit_home, MEMORY)) or "{}")
        return str(value["newest_failure"]), int(value["with_that_stamp"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", 0


def _remember(popkit_home: str, newest: str, number: int) -> None:
    try:
        files.replace_text(os.path.join(popkit_home, MEMORY), dumps({"newest_failure": newest, "with_that_stamp": number}))
    except OSError:
        return  # the folder's own check tells of it


def configuration(popkit_home: str, project: str) -> Check:
    """Whether every layer of the configuration is right."""
    read, problems = config_checking.check_layers(home.plugin_root(), popkit_home, project)
    if not problems:
        return Check("configuration", OK, f"no problems in {counted(len(read), 'file')}", problems=0)
    told = f"{counted(len(problems), 'problem')} in {listed(sorted({problem.file for problem in problems}), 3)}"
    ignored = sorted({problem.file for problem in problems if not problem.key})
    if ignored:
        told += f"; ignored as a whole: {listed(ignored, 3)}"
    return Check("configuration", WARNING, told, "popkit config check says what is allowed.", problems=len(problems))


def agreement(popkit_home: str, project: str, environ: Mapping[str, str]) -> Check:
    """Whether the states of this project's newest sessions, subagents included, are what transcript and journal give."""
    sessions = _newest(popkit_home, project)
    if not sessions:
        return Check("state", OK, f"no session of {project} has a state yet", sessions=[])
    found = []
    for session_id, contexts in sessions.items():
        site = live.Site(environ, session_id, project)
        found += [(session_id, paths.agent_id, *_difference(site, paths)) for paths in contexts]
    worst = WARNING if any(level != OK for _, _, level, _ in found) else OK
    told = "; ".join(f"{id[:8]}{' subagent ' + agent[:8] if agent else ''} {text}" for id, agent, _, text in found)
    facts = [{"session": session_id, "agent": agent, "level": level, "text": text} for session_id, agent, level, text in found]
    advice = "`popkit context retention --session ID` reconciles a session with its transcript." if worst != OK else ""
    return Check("state", worst, told, advice, sessions=facts)


def _newest(popkit_home: str, project: str) -> dict:
    """This project's newest sessions: id -> the stored contexts of each, the main thread first."""
    found: dict = {}
    for seen in peek.of_project(popkit_home, project):
        if seen.paths.session_id in found or len(found) < SESSIONS:
            found.setdefault(seen.paths.session_id, []).append(seen.paths)
    return {session_id: sorted(contexts, key=lambda paths: paths.agent_id) for session_id, contexts in found.items()}


def _transcript(site: live.Site, paths: store.ContextFiles) -> str:
    """Return the transcript of a context; "" where nobody knows it."""
    main = site.session.get("transcript")
    if not isinstance(main, str):
        return ""
    return agents.transcript_of(main, paths.agent_id) if paths.agent_id else main


def _difference(site: live.Site, paths: store.ContextFiles) -> tuple:
    """(level, how a state and its rebuild compare)."""
    transcript = _transcript(site, paths)
    try:
        stored = peek.state(paths)
        if stored is None or not os.path.isfile(transcript):
            return OK, "no longer has a transcript"
        expired = set(store.read_expired(paths, stored))
        made = rebuild(transcript, live.journal_of(site, paths), site.rules_for, stored.session_id, stored.agent_id).state
    except ValueError as error:
        return WARNING, f"is corrupt ({error})"
    except OSError as error:
        return WARNING, f"cannot be read ({error.strerror})"
    behind = made.index - stored.index
    if behind > 0:
        return OK, f"is {counted(behind, 'call')} behind its transcript: reconciled when you next ask"
    if behind < 0:
        return OK, f"is {counted(-behind, 'call')} ahead of its transcript: not written yet, or rewound"
    have, should = shared_facts(stored), shared_facts(made)
    have["expired"], should["expired"] = expired, set(made.expired)
    different = [name for name in should if have.get(name) != should[name]]
    if different:
        return WARNING, f"differs from its transcript in {listed(different)}: reconciled when you next ask"
    return OK, f"equals its transcript and journal ({counted(stored.index, 'call')})"
