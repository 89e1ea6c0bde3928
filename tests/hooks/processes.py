"""Hooks as the host runs them: real processes on real files, in an environment that holds nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from popkit_retention.core import retention_tracker
from popkit_retention.core.handlers import coming_calls, context_monitor, session_events, tool_calls
from popkit_retention.core.io import hook_log
from popkit_retention.core.io.codec import loads
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.retention_tracker import HookContext, process_retention
from popkit_retention.core.state import store
from popkit_retention.core.state.site import Site
from tests.kit.forks import Done, data_of
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / "hooks"
REGISTERED = json.loads((HOOKS / "hooks.json").read_text())["hooks"]
# The script of each event that a payload may name.
SCRIPTS = {
    "PreToolUse": "pre-tool-use",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-use",
    "UserPromptSubmit": "context-monitor",
    "Stop": "context-monitor",
    "SessionStart": "session-start",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
# What each script calls.
HANDLERS = {
    "context-monitor": context_monitor.handle,
    "post-tool-use": tool_calls.track,
    "pre-compact": session_events.before_compaction,
    "pre-tool-use": coming_calls.answer,
    "session-end": session_events.end,
    "session-start": session_events.start,
}


class Home:
    """The folder of ours that hooks of a test write to, below a folder where nothing else may appear."""

    def __init__(self, parent: Path):
        self.parent = parent
        self.path = parent / "popkit"

    def env(self, **more: str) -> dict[str, str]:
        """The environment of a session that nobody sees: no hook tells a person what it tells each once."""
        own = {"POPKIT_HOME": str(self.path), "HOME": str(self.parent / "no-home"), "CLAUDE_CODE_SESSION_ATTENDED": "0"}
        return {"PATH": os.environ.get("PATH", os.defpath), **own, **more}

    def paths(self, session_id: str, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(str(self.path), session_id, agent_id)

    def caught_up(self, session_id: str, agent_id: str = "") -> ContextState:
        """The state once somebody has had the lock who takes in what hooks could not add in time: on a busy machine there is such."""
        site = Site(self.env(), session_id)
        retention_tracker.change(site, site.paths(agent_id), "", lambda _stored, _rules: False)
        return self.state(session_id, agent_id)

    def state(self, session_id: str, agent_id: str = "") -> ContextState:
        """The stored state, read without the store's leave to set a corrupt one aside."""
        text = Path(self.paths(session_id, agent_id).state).read_text(encoding="utf-8")
        assert isinstance(loads(text), dict)
        stored = store.load(self.paths(session_id, agent_id))
        assert stored is not None, "the state is corrupt"
        return stored.state

    def failures(self) -> list[str]:
        """The first lines of the failures that hooks have logged."""
        return hook_log.logged_failures(str(self.path))

    def files(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if not path.is_dir())

    def texts(self) -> dict[str, str]:
        """All that is kept: name of a file -> the name and its text."""
        found = {str(path.relative_to(self.path)): path.read_bytes().decode("utf-8", "replace") for path in self.files()}
        return {name: name + "\n" + text for name, text in found.items()}

    def holding(self, what: str) -> dict[str, str]:
        """Where something is kept, in whatever case: name of a file -> what is around it."""
        found = {}
        for name, text in self.texts().items():
            at = text.lower().find(what.lower())
            if at >= 0:
                found[name] = text[max(0, at - 120) : at + 120]
        return found

    def leftovers(self) -> list[Path]:
        """Temporary files of processes that were killed."""
        return [path for path in self.files() if path.name.endswith(".tmp")]


def copy_hooks(to: Path) -> None:
    """Puts the hooks into another folder. Their byte code comes along, so that nothing is compiled again; a pack, or what is just being
    written, does not."""
    shutil.copytree(HOOKS, to, ignore=shutil.ignore_patterns("mod", "*.pack*", "*.pyc.*"))


def listing(folder: Path) -> dict[str, tuple]:
    """Everything below a folder, with what would tell that it was touched."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return found


def argv(script: str, python: str = sys.executable) -> list[str]:
    return [python, "-S", "-E", str(HOOKS / f"{script}.py")]


def start_argv(argv: list[str], env: dict[str, str], **more) -> subprocess.Popen:
    """Starts a hook by its command, which then waits for its payload."""
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, **more)


def feed(process: subprocess.Popen, payload: object) -> None:
    """Gives a waiting hook its whole payload, which must fit into a pipe."""
    assert process.stdin is not None
    try:
        process.stdin.write(data_of(payload))
        process.stdin.close()
    except BrokenPipeError:
        pass  # it was killed
    process.stdin = None


def process_results(home: str, name: str) -> None:
    """Process ten results through the specification's name for it."""
    for number in range(10):
        command = {"command": f"node job-{name}-{number}.js"}
        process_retention(HookContext("session", "Bash", command, tool_use_id=f"T{name}-{number}", cwd="/p"), name, {"POPKIT_HOME": home})


def finish(process: subprocess.Popen) -> Done:
    stdout, stderr = process.communicate(timeout=HANG_S)
    return Done(process.returncode, stdout, stderr)


def run_argv(argv: list[str], payload: object, env: dict[str, str], **more) -> Done:
    """Runs a hook by its command."""
    done = subprocess.run(argv, input=data_of(payload), capture_output=True, env=env, timeout=HANG_S, check=False, **more)
    return Done(done.returncode, done.stdout, done.stderr)


def run(script: str, payload: object, env: dict[str, str], **more) -> Done:
    """Runs an entry script as hooks.json does, without the launcher."""
    return run_argv(argv(script), payload, env, **more)


def run_event(payload: dict, env: dict[str, str], **more) -> Done:
    """Runs the script of the event that a payload names."""
    return run(SCRIPTS[payload["hook_event_name"]], payload, env, **more)


def command_of(event: str) -> str:
    """The command line that hooks.json registers for an event."""
    return REGISTERED[event][0]["hooks"][0]["command"]


def run_registered(payload: dict, env: dict[str, str], shell: str = "sh", root: Path = ROOT, **more) -> Done:
    """Runs the registered command line of a payload's event through a shell, as the host does."""
    line = [shell, "-c", command_of(payload["hook_event_name"])]
    env = {**env, "CLAUDE_PLUGIN_ROOT": str(root)}
    return run_argv(line, payload, env, **more)
