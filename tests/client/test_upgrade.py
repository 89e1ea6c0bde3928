"""An upgrade as a user makes it: an old commit is installed from a git address and worked with, the repository goes on, the client's own
commands fetch what is new."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import HANG_S
from tests.test_packaging import MOST_BYTES, MOST_OTHER_FILES

from . import installs
from .client import ClientHome
from .marketplace import checkout, claude, commit, git, served
from .scripted_api import ScriptedApi, call, say
from .test_plugin import Tracked

OLD = "0.0.1"
# The machine may have a popkit of its own, which comes before those of plugins.
VERSION = {"command": "for found in $(type -ap popkit); do case $found in */plugins/*) $found --version ;; esac; done"}
READ = [call(("Read", {"file_path": "{work}/src/app.js"})), call(("Bash", VERSION)), say("looked")]
GO_ON = [call(("Bash", VERSION)), call(("Read", {"file_path": "{work}/test.js"})), say("went on")]
NEWEST_AND_OLDEST = [pytest.param("newest"), pytest.param("oldest", marks=pytest.mark.slow)]


@dataclass
class Upgraded:
    """What came of it: the version that each session named, what the client said, the stored state before and after."""

    versions: list[str]
    said: str
    commit: str
    live: list[list[str]]
    kept: bool
    copy: Path


@pytest.fixture(scope="module", params=NEWEST_AND_OLDEST)
def upgraded(
    request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Upgraded]:
    root = tmp_path_factory.mktemp("upgrade")
    work, bare = root / "popkit", root / "served" / "popkit.git"
    as_it_was_before(checkout(work))
    with ScriptedApi() as api, served(work, bare) as address:
        home = ClientHome(root, clients[request.param], api.url)
        api.places["work"] = str(home.work)
        api.scripts.update({"read": READ, "on": GO_ON})
        tracked = Tracked(home, api)
        claude(home, "plugin", "marketplace", "add", address)
        claude(home, "plugin", "install", "popkit@popkit")
        first = home.run_headless("go [[SCRIPT:read]]")
        versions, live = [version_in(api)], [tracked.live_labels(first.session_id)]
        note = home.config / "popkit" / "retention-config.json"
        note.write_text('{"retention": {"grace": 3}}')

        git(work, "rm", "-rq", ".")
        checkout(work)
        new = commit(work)
        git(work, "push", "-q", str(bare), "main")
        claude(home, "plugin", "marketplace", "update", "popkit")
        said = claude(home, "plugin", "update", "popkit@popkit")
        kept = note.read_text() == '{"retention": {"grace": 3}}' and tracked.live_labels(first.session_id) == live[0]
        api.clear()
        home.run_headless("go [[SCRIPT:on]]", resume=first.session_id)
        versions.append(version_in(api))
        live.append(tracked.live_labels(first.session_id))
        (copy,) = (path for path in (home.config / "plugins/cache/popkit/popkit").iterdir() if not (path / ".orphaned_at").exists())
        yield Upgraded(versions, said, new, live, kept, copy)


def as_it_was_before(work: Path) -> None:
    """Give it the manifests that its first users have installed: a version, and the whole repository as the plugin."""
    for manifest in (work / ".claude-plugin/plugin.json", work / "power-mode/popkit-mcp/.claude-plugin/plugin.json"):
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": OLD}))
    marketplace = work / ".claude-plugin/marketplace.json"
    marketplace.write_text(marketplace.read_text().replace("./.claude-plugin/popkit", "./"))
    for name in ("mod", "register.ts"):
        (work / "hooks" / name).unlink()
        (work / ".claude-plugin/popkit/hooks" / name).rename(work / "hooks" / name)
    shutil.rmtree(work / ".claude-plugin/popkit")
    version = work / "hooks/utils/version.py"
    version.write_text(f'VERSION = "{OLD}"\n')


def version_in(api: ScriptedApi) -> str:
    """What `popkit --version` said to the model last."""
    return [text for text in api.turns()[-1].tool_results().values() if text.startswith("popkit ")][-1].strip()


def test_the_clients_own_commands_bring_the_new_code(upgraded: Upgraded) -> None:
    assert f"updated from {OLD} to {upgraded.commit[:12]}" in upgraded.said
    assert upgraded.versions[0] == f"popkit {OLD}"
    assert upgraded.versions[1] not in {"", upgraded.versions[0]}
    assert upgraded.copy.name == upgraded.commit[:12]


def test_all_that_was_stored_is_kept_and_the_session_goes_on_from_it(upgraded: Upgraded) -> None:
    assert upgraded.kept
    before, after = upgraded.live
    assert before[0] == "Read src/app.js"
    assert set(before) <= set(after)
    assert after[-1] == "Read test.js"


def test_what_is_installed_is_what_runs(upgraded: Upgraded) -> None:
    files = [path for path in upgraded.copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len([path for path in files if path.suffix != ".py"]) <= MOST_OTHER_FILES
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    assert not {"tests", "docs", "benchmarks", "scripts"} & {path.name for path in upgraded.copy.iterdir()}
    ran = subprocess.run([upgraded.copy / "bin/popkit", "--version"], capture_output=True, text=True, check=True, timeout=HANG_S)
    assert ran.stdout.startswith("popkit ")
