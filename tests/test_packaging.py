"""The manifests agree with each other, and what is installed is what is meant to be."""

from __future__ import annotations

import bz2
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.version import VERSION
from tests import budgets, guide_packages
from tests.client import installs
from tests.context.clients.providers import Providers
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PLUGIN = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
TOOLS_PLUGIN = ROOT / "power-mode" / "popkit-mcp"
TOOLS = json.loads((TOOLS_PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
MARKETPLACE = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))


INSTALLED = ROOT / ".claude-plugin" / "popkit"
# What a user gets may be this large (bytes), and have so many files beside the modules of Python, which are as many as there are subjects.
MOST_BYTES, MOST_OTHER_FILES = 4_200_000, 85


def test_the_version_stands_in_one_place_and_the_changelog_has_it() -> None:
    """A plugin whose manifest names no version goes from commit to commit; a version that nobody raises holds every upgrade back."""
    assert all("version" not in manifest for manifest in (PLUGIN, TOOLS, *MARKETPLACE["plugins"]))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)
    assert [name for name in headings if name != "Unreleased"][:1] == [VERSION]
    assert len(set(headings)) == len(headings)


def test_the_marketplace_offers_what_runs_and_its_tools_from_a_folder_of_their_own() -> None:
    places = {PLUGIN["name"]: "./.claude-plugin/popkit", TOOLS["name"]: "./power-mode/popkit-mcp"}
    assert {plugin["name"]: plugin["source"] for plugin in MARKETPLACE["plugins"]} == places
    assert MARKETPLACE["name"] == PLUGIN["name"] == "popkit"


def test_what_is_installed_is_what_runs_and_stays_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git repository")
    names = listed.stdout.splitlines()

    def named(folder: str) -> set[str]:
        """What Git lists in a folder: one that a switched branch has left empty is not there."""
        return {name[len(folder) + 1 :].split("/")[0] for name in names if name.startswith(f"{folder}/")}

    own = INSTALLED.relative_to(ROOT).as_posix()
    assert named(own) == {
        ".claude-plugin", "LICENSE", "bin", "commands", "hooks", "power-mode", "retention-config.json",
    }  # fmt: skip
    services = "power-mode/popkit_retention"
    assert named(f"{own}/hooks") == named("hooks")
    assert named(f"{own}/{services}") == named(services) - {
        "adapters",
        "archive",
        "clients",
        "conformance",
        "context",
        "py.typed",
        "vector_stores",
    }, "what only an agent of one's own imports comes with the wheel"
    assert named(f"{own}/power-mode") == named("power-mode")
    leads_to = {path.resolve().relative_to(ROOT).as_posix() for path in INSTALLED.rglob("*") if path.is_symlink()}
    below = tuple(f"{root}/" for root in (own, *leads_to))
    shipped = [name for name in names if name in leads_to or name.startswith(below)]
    files = [ROOT / name for name in shipped if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]
    others = [path.relative_to(ROOT).as_posix() for path in files if path.suffix != ".py"]
    assert len(others) <= MOST_OTHER_FILES, "\n".join(others)
    sizes = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in files}
    budgets.assert_within(MOST_BYTES, sizes, "dead code, and what a docstring, a comment or a text says twice", ROOT)


def test_what_the_client_loads_as_code_lies_in_the_plugins_own_folder() -> None:
    """From a folder that it reads in place, it refuses a module behind a link that leads out of it."""
    for name in ("hooks/register.ts", "hooks/mod"):
        assert not (INSTALLED / name).is_symlink()
        assert (ROOT / name).resolve() == INSTALLED / name


def test_the_plugin_alone_brings_no_tools_and_its_tools_bring_no_hooks() -> None:
    assert not (ROOT / ".mcp.json").exists()
    assert "mcpServers" not in PLUGIN
    assert {path.name for path in TOOLS_PLUGIN.iterdir()} == {".claude-plugin", ".mcp.json", "start.sh"}


def test_hooks_name_only_events_that_the_oldest_client_knows() -> None:
    # Under 2.1.100 one unknown event silences every hook of a plugin.
    known = {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SessionStart", "PreCompact", "SessionEnd"}
    hooks = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert set(hooks) == known
    handlers = [handler for matchers in hooks.values() for matcher in matchers for handler in matcher["hooks"]]
    # 2.1.100 runs `command` alone and would give the payload to it as a script.
    assert all(set(handler) - {"if"} == {"type", "command", "timeout", "statusMessage"} for handler in handlers)
    assert all(handler["timeout"] <= 30 for handler in handlers), "seconds"
    assert all(len(matcher["hooks"]) == 1 for matchers in hooks.values() for matcher in matchers), "one process for each event"


@pytest.mark.parametrize(
    "name", ["bin/popkit", "hooks/popkit", "scripts/test", "scripts/test-under-load", ".ci/run", "power-mode/popkit-mcp/start.sh"]
)
def test_scripts_can_be_run(name: str) -> None:
    assert (ROOT / name).stat().st_mode & stat.S_IXUSR
    shell = "bash" if "bash" in (ROOT / name).read_text().split("\n")[0] else "sh"
    subprocess.run([shell, "-n", ROOT / name], check=True)


def test_hooks_have_no_dependency() -> None:
    assert re.search(r"^dependencies = \[\]", PYPROJECT, re.MULTILINE)
    assert 'requires-python = ">=3.9"' in PYPROJECT
    assert '"Private :: Do Not Upload"' in PYPROJECT


def test_nothing_that_is_shipped_names_a_folder_of_somebodys_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git repository")
    tell_tale = re.compile(r"/(?:root|home/(?!me\b|dev\b|user\b)[a-z]\w*|Users/(?!me\b|dev\b)\w+)/")
    paths = [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("tests/")]
    found = [path for path in paths if path.is_file() and tell_tale.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert found == []


def test_a_release_raises_the_version_cuts_the_changelog_and_tags(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
        return subprocess.run(["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    def release(version: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "dev",
               "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "dev@example.invalid"}  # fmt: skip
        return subprocess.run(
            [sys.executable, "scripts/release", version], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    for name in ("scripts/release", "hooks/utils/version.py", "power-mode/opencode/package.json", "power-mode/pi/package.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(f"# Changelog\n\n## [Unreleased]\n\n- A change.\n\n## [{VERSION}] - 2026-01-01\n\n- Another.\n")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "start")

    assert "is not above" in release(VERSION).stderr
    done = release("9.1.0")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^## \[(.+?)\] - \d{4}-\d\d-\d\d$", changes.read_text(), re.MULTILINE) == ["9.1.0", VERSION]
    assert 'VERSION = "9.1.0"' in (tmp_path / "hooks/utils/version.py").read_text()
    for host in ("opencode", "pi"):
        assert json.loads((tmp_path / "power-mode" / host / "package.json").read_text())["version"] == "9.1.0"
    assert (git("tag"), git("status", "--porcelain")) == ("v9.1.0\n", "")
    assert "nothing under" in release("9.2.0").stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it would be installed, built by its own build system from this folder; no index is asked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=HANG_S)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name}
    assert {name.split("/")[0] for name in names} == {"popkit_retention"}, (
        "a package of any other name could stand beside one of the user's"
    )
    library, services = ROOT / "hooks" / "utils", ROOT / "power-mode" / "popkit_retention"
    files = {
        f"popkit_retention/{prefix}{path.relative_to(folder).as_posix()}"
        for prefix, folder in (("core/", library), ("", services))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    }
    beside = {"hooks/hooks.json", "hooks/popkit.py", "retention-config.json"}
    assert names == files | {f"popkit_retention/{name}" for name in beside}


class Package:
    """What pip makes of the wheel, in `site`, and a home with nothing in it."""

    def __init__(self, site: Path, home: Path) -> None:
        self.site, self.home = site, home
        self.home.mkdir()
        self.entry = re.search(r"^popkit = (.+):(.+)$", next(self.site.glob("*.dist-info/entry_points.txt")).read_text(), re.MULTILINE)

    def ran(self, *words: str) -> subprocess.CompletedProcess[str]:
        code = f"import sys; from {self.entry[1]} import {self.entry[2]}; sys.exit({self.entry[2]}({list(words)!r}))"
        env = {"PATH": os.defpath, "HOME": str(self.home), "PYTHONPATH": str(self.site)}
        command = [sys.executable, "-S", "-c", code]
        return subprocess.run(command, cwd=self.home, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)

    def popkit(self, *words: str) -> str:
        done = self.ran(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


def unpacked(wheel: Path, site: Path) -> Path:
    zipfile.ZipFile(wheel).extractall(site)
    return site


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all that leave it as it is: each Python compiles its modules once."""
    return unpacked(wheel, tmp_path_factory.mktemp("site"))


@pytest.fixture
def package(site: Path, tmp_path: Path) -> Package:
    return Package(site, tmp_path / "home")


def test_the_package_stands_beside_one_named_hooks_and_says_its_version_and_types(wheel: Path, tmp_path: Path) -> None:
    package = Package(unpacked(wheel, tmp_path / "site"), tmp_path / "home")
    (package.site / "hooks").mkdir()
    (package.site / "hooks" / "__init__.py").write_text("MINE = True\n")
    code = "import hooks, popkit_retention as ours; print(hooks.MINE, ours.__version__, ours.PopkitError)"
    env = {"PATH": os.defpath, "HOME": str(package.home), "PYTHONPATH": str(package.site)}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=package.home, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.stdout, done.stderr) == (f"True {VERSION} <class 'popkit_retention.core.errors.PopkitError'>\n", "")
    assert package.popkit("--version") == f"popkit {VERSION}\n"
    assert (package.site / "popkit_retention" / "py.typed").exists()


def test_what_needs_no_plugin_runs_from_the_wheel_with_an_empty_home(package: Package) -> None:
    assert "A made-up afternoon" in package.popkit("try")
    assert "Cache misses" in package.popkit("bill", "misses")
    assert "What the bill was made of" in package.popkit("bill")
    nothing = package.ran("lab")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "there are no sessions of Claude Code" in nothing.stderr


def test_it_reads_the_sessions_of_the_person(package: Package) -> None:
    projects = package.home / ".claude/projects/-shop"
    projects.mkdir(parents=True)
    sample = bz2.decompress((package.site / "popkit_retention/lab/sample-session.jsonl.bz2").read_bytes()).decode()
    (projects / "5e551017-0000-4000-8000-000000000001.jsonl").write_text(sample)
    assert "Your sessions with PopKit" in package.popkit("try", "--all")
    # Its exit says whether a policy missed something, and stderr how far it is.
    assert "1 session" in package.ran("lab").stdout
    assert "Cache misses" in package.popkit("bill", "misses", "--since", "9999d")
    assert "The bill" in package.popkit("bill")


def test_what_it_cannot_do_it_says(package: Package) -> None:
    for host in ("opencode", "pi"):
        assert "in a clone of PopKit" in " ".join(package.ran("setup", host).stderr.split())
    assert "came with pip" in package.ran("setup", "shell", "--yes").stderr
    line = package.ran("statusline", "install", "--yes")
    assert (line.returncode, line.stdout) == (1, "")
    assert "claude plugin install popkit@popkit" in line.stderr
    assert "claude plugin marketplace add ./popkit" in package.popkit("try")


def test_what_is_installed_from_the_wheel_works_by_itself(package: Package) -> None:
    popkit, site = package.popkit, package.site
    assert popkit("--version") == f"popkit {VERSION}\n"
    assert "Retention status" in popkit("try")
    assert popkit("config", "check") == f"No problems in 1 file:\n  {site / 'popkit_retention' / 'retention-config.json'}\n"
    shown = json.loads(popkit("config", "show", "--json"))["values"]
    assert {row["source"] for row in shown if row["key"].startswith("models.by_id")} == {"shipped"}, "prices and windows too"


BLOCKS = [
    (f"{guide.stem}_{number}", block)
    for guide in sorted((ROOT / "docs" / "agents").glob("*.md"))
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", guide.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
]


# A program that names one of these needs the packages of an extra, and some of them a later Python.
MODULES_OF_EXTRAS = ("popkit_retention.context", "popkit_retention.clients", "popkit_retention.adapters")


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    """Both providers on loopback, where the programs of the guides send their requests."""
    with Providers() as providers:
        yield providers


def _tried() -> list:
    """The interpreters that the programs are tried with; that of the tests only with --slow, where an older and a newer one are there."""
    pythons = guide_packages.pythons()
    between = min(pythons.values()) < sys.version_info[:2] < max(pythons.values())
    return [pytest.param(python, marks=[pytest.mark.slow] if between and python == sys.executable else []) for python in pythons]


@pytest.mark.parametrize("python", _tried())
def test_the_programs_of_the_guides_run_from_the_wheel(package: Package, providers: Providers, python: str) -> None:
    assert len(BLOCKS) >= 8
    site, version = guide_packages.folder_of(python), guide_packages.pythons()[python]
    left_out = []
    for name, block in BLOCKS:
        needs_more = any(module in block for module in MODULES_OF_EXTRAS)
        if (needs_more and site is None) or ("popkit_retention.adapters" in block and version < (3, 10)):
            left_out.append(name)
            continue
        folder = package.home / name
        folder.mkdir()
        paths = [str(package.site), *([str(site)] if needs_more else [])]
        env = {"PATH": os.defpath, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(paths), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        env |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": providers.url}
        env |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": providers.url + "/v1"}
        command = [python, "-S", "-c", block]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
        said = [line for line in done.stderr.splitlines() if not re.match(r"PopKit: .* This is logged once\.$", line)]
        assert (done.returncode, said) == (0, []), name
    if version >= (3, 10) and left_out:
        pytest.skip(f"{', '.join(left_out)}: their packages are not in .cache: run scripts/test once without --offline")


def test_the_programs_of_the_guides_are_typed_strictly(package: Package) -> None:
    for name, block in BLOCKS:
        (package.home / f"{name}.py").write_text(block)
    env = {"PATH": os.defpath, "HOME": str(package.home), "MYPYPATH": str(package.site)}
    # What the wheel's own modules hold is checked with the project; here their types are read, as those of any installed package.
    # To read the types of other packages takes a minute of processor time: they stay in the cache for the next run.
    cache = str(installs.cache_folder().parent / "guides" / "mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--cache-dir", cache]
    command += [f"{name}.py" for name, _ in BLOCKS]
    done = subprocess.run(command, cwd=package.home, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_finds_no_fault_in_the_programs_of_the_guides(package: Package) -> None:
    pyright = Path(sys.executable).with_name("pyright")
    if not pyright.exists() or shutil.which("node") is None:
        pytest.skip("pyright is not installed, or Node is not on PATH")
    for name, block in BLOCKS:
        (package.home / f"{name}.py").write_text(block)
    settings = {"extraPaths": [str(package.site)], "typeCheckingMode": "standard", "include": ["*.py"]}
    (package.home / "pyrightconfig.json").write_text(json.dumps(settings))
    env = {"PATH": os.environ["PATH"], "HOME": str(package.home), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [str(pyright), "--pythonpath", sys.executable, "--project", str(package.home)]
    done = subprocess.run(command, cwd=package.home, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
