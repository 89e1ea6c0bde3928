"""What a hook imports decides what it costs: on the oldest Python that is found and the newest, with --slow on all of them, only what the
list allows; and nothing from outside."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.io.repository import blob_of
from popkit_retention.core.state.memory_records import COMMAND, NAME, PATH, TEST, Entry, Fact
from popkit_retention.core.state.memory_text import render
from popkit_retention.memory.items import Item
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.examples import examples
from tests.hooks import payloads
from tests.hooks.remembering import Remembering
from tests.patience import HANG_S
from tests.reclaim.shops import Shop, worked

ROOT = Path(__file__).resolve().parents[1]
HOOKS = ROOT / "hooks"
SERVICES = ROOT / "power-mode"
COMMAND_LINE = HOOKS / "popkit.py"
# What of the services needs no more than Python: all but the adapters, and what pydantic is for, the context builder, its clients, the
# dashboard and its tiles.
NEED_MORE = {
    *(SERVICES / "popkit_retention" / "adapters").rglob("*.py"),
    *(SERVICES / "popkit_retention" / "clients").rglob("*.py"),
    *(SERVICES / "popkit_retention" / "context").rglob("*.py"),
    *(SERVICES / "popkit_retention" / "dashboard").rglob("*.py"),
    *(SERVICES / "popkit_retention").glob("*/tile*.py"),
}
# What an extra brings is imported where it is used, and nowhere else.
WITHIN_A_FUNCTION = {
    SERVICES / "popkit_retention" / "lab" / "parquet_rows.py": {"pyarrow"},
    SERVICES / "popkit_retention" / "parallel" / "cluster.py": {"distributed"},
    SERVICES / "popkit_retention" / "parallel" / "sources.py": {"fsspec"},
    SERVICES / "popkit_retention" / "memory" / "stores" / "servers" / "neo4j.py": {"neo4j"},
    SERVICES / "popkit_retention" / "memory" / "minilm.py": {"numpy", "onnxruntime"},
    SERVICES / "popkit_retention" / "vector_stores" / "pgvector.py": {"pg8000"},
    SERVICES / "popkit_retention" / "vector_stores" / "sqlite_vec.py": {"pysqlite3", "sqlite_vec"},
    SERVICES / "popkit_retention" / "usage" / "postgres.py": {"pg8000"},
}
BARE_SERVICES = sorted({*SERVICES.rglob("*.py")} - NEED_MORE)
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
# What PostToolUse may load beyond what a bare interpreter has: C modules, and what making the pack anew needs. Not even `os`, which costs
# 1 ms.
HOT = {"__future__", "_ast", "_blake2", "_json", "_sha2", "_sha256", "gc", "time"}
# What a session's start loads beyond that where memory is on and what is remembered still holds.
OF_MEMORY = {"_sha1", "zlib"}
# What no hook may load: each costs more than a bare start.
NEVER = {
    "argparse", "asyncio", "concurrent.futures", "dataclasses", "http.client", "importlib.metadata", "inspect", "logging",
    "multiprocessing", "pathlib", "pydantic", "socket", "ssl", "tempfile", "unittest", "urllib.request",
}  # fmt: skip
# SQLite costs as much, and so only those may load it that run once in a long while and look up what has been cleared.
MAY_OPEN_THE_ARCHIVE = {"session-start", "pre-compact", "pre-tool-use"}
PYTHON_TEXT = "def add(a, b):\n    return a + b\n"
FILE = {"filePath": "/project/app.py", "content": PYTHON_TEXT, "numLines": 2, "startLine": 1, "totalLines": 2}
EDIT = {"file_path": "/project/app.py", "old_string": "a + b", "new_string": "b + a"}
CALLS = [
    ("Read", {"file_path": "/project/app.py"}, {"type": "text", "file": FILE}),
    ("Bash", {"command": "cd src && rg -n 'add' | head -20"}, {"stdout": "app.py:1:def add(a, b):", "stderr": "", "interrupted": False}),
    ("Bash", {"command": "npm test"}, {"stdout": "PASS 3 tests\n", "stderr": "", "interrupted": False}),
    ("Bash", {"command": "cat <<'E' > notes.txt\n$(date)\nE"}, {"stdout": "", "stderr": "", "interrupted": False}),
    ("Edit", EDIT, {**EDIT, "originalFile": PYTHON_TEXT, "structuredPatch": [], "userModified": False, "replaceAll": False}),
    ("mcp__demo__lookup", {"key": "colour"}, [{"type": "text", "text": "blue"}]),
    ("Bash", {"command": "npm test"}, None),
]


@pytest.fixture(scope="module")
def pythons() -> list[Path]:
    """One real interpreter of each version, or of the oldest and the newest: on PATH, of pyenv, of uv, and the one that runs the tests."""
    places = [Path(sys.executable)]
    places += [Path(found) for version in VERSIONS if (found := shutil.which(f"python{version}"))]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places += sorted(pyenv.glob("versions/*/bin/python3"))
    places += sorted((Path.home() / ".local/share/uv/python").glob("*/bin/python3"))
    found: dict[str, Path] = {}
    for place in places:
        asked = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"
        answer = subprocess.run([place, "-S", "-E", "-c", asked], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            version, executable = answer.stdout.split("\n")[:2]
            if version in VERSIONS:
                found.setdefault(version, Path(executable))
    versions = [version for version in VERSIONS if version in found]
    return [found[version] for version in examples(sorted({versions[0], versions[-1]}, key=versions.index), versions)]


def _payloads(common: dict) -> list[dict]:
    payloads = []
    for number, (tool, tool_input, response) in enumerate(CALLS):
        outcome = {"tool_response": response} if response is not None else {"error": "Exit code 1\n1 failed\n"}
        event = "PostToolUse" if response is not None else "PostToolUseFailure"
        names = {"hook_event_name": event, "tool_name": tool, "tool_use_id": f"toolu_{number}"}
        payloads.append({**common, **names, "tool_input": tool_input, **outcome})
    return payloads


def _loaded(python: Path, home: Path, script: Path | None = None, payload: object = None) -> set[str]:
    """The modules that a script loads, as the interpreter itself tells."""
    what = [str(script)] if script else ["-c", "pass"]
    done = subprocess.run(
        [python, "-S", "-E", "-X", "importtime", *what],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
        env={"POPKIT_HOME": str(home), "HOME": str(home.parent), "PATH": os.defpath},
    )
    lines = [line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {name for name in lines if name != "imported package"}


def _beyond(bare: set[str], python: Path, home: Path, script: Path, payload: object) -> set[str]:
    """What a script loads that a bare interpreter has not."""
    loaded = _loaded(python, home, script, payload) - bare
    return {name for name in loaded if not name.startswith(("utils", "encodings.")) and name != "pack"}


def _session(folder: Path) -> Shop:
    """A session with a transcript, of which a part has been cleared into the archive."""
    folder.mkdir()
    shop = Shop(folder)
    shop.write(worked(str(shop.project)))
    assert shop.clear()[1] is not None
    assert (shop.home / "archive.sqlite").exists()
    return shop


def _common(session: Shop) -> dict:
    """What the host tells every hook."""
    return {"session_id": session.session_id, "cwd": str(session.project), "transcript_path": str(session.transcript)}


def test_a_tool_call_loads_only_what_the_list_allows(pythons: list[Path], tmp_path: Path) -> None:
    for number, python in enumerate(pythons):
        session = _session(tmp_path / str(number))
        state = session.home / "sessions" / session.session_id / "main.state.json"
        before = json.loads(state.read_text())["index"]
        bare = _loaded(python, session.home)
        for payload in _payloads(_common(session)):
            surplus = _beyond(bare, python, session.home, HOOKS / "post-tool-use.py", payload) - HOT
            assert surplus == set(), (python, payload["tool_name"], payload["tool_input"])
        assert json.loads(state.read_text())["index"] == before + len(CALLS), "the hook really did its work"
        assert not (session.home / "hooks.log").exists()


def test_the_first_tool_call_of_a_session_loads_no_more(pythons: list[Path], tmp_path: Path) -> None:
    for number, python in enumerate(pythons):
        home = tmp_path / str(number)
        none_yet = {"session_id": "imports", "cwd": "/project", "transcript_path": str(tmp_path / "none.jsonl")}
        assert _beyond(_loaded(python, home), python, home, HOOKS / "post-tool-use.py", _payloads(none_yet)[0]) <= HOT, python
        assert json.loads((home / "sessions" / "imports" / "main.state.json").read_text())["index"] == 1


OTHERS = {
    "context-monitor": {"hook_event_name": "UserPromptSubmit", "prompt": "go on"},
    "session-start": {"hook_event_name": "SessionStart", "source": "resume", "model": "claude-opus-4-8"},
    "pre-compact": {"hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": ""},
    "session-end": {"hook_event_name": "SessionEnd", "reason": "other"},
    "pre-tool-use": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "popkit restore abcd2345"}},
}


@pytest.mark.parametrize("hook", OTHERS)
def test_no_hook_loads_what_costs_more_than_a_start(pythons: list[Path], hook: str, tmp_path: Path) -> None:
    for number, python in enumerate(pythons):
        session = _session(tmp_path / str(number))
        loaded = _loaded(python, session.home, HOOKS / f"{hook}.py", {**_common(session), **OTHERS[hook]})
        assert loaded & NEVER == set(), python
        assert "sqlite3" not in loaded or hook in MAY_OPEN_THE_ARCHIVE, python
        assert not (session.home / "hooks.log").exists()


def test_a_session_that_is_given_memory_loads_hardly_more(pythons: list[Path], tmp_path: Path) -> None:
    for number, python in enumerate(pythons):
        shop = Remembering(tmp_path / str(number))
        (shop.work / "src/cart.py").write_text(PYTHON_TEXT)
        entries = [
            Entry(COMMAND, "npm test", TEST), Entry(PATH, "cart.py", "src", [Fact("src/cart.py", "", "", blob_of(PYTHON_TEXT.encode()))]),
            Entry(NAME, "add", "src/cart.py", [Fact("src/cart.py", "add")]),
        ]  # fmt: skip
        shop.project.turn_on(1.0)
        shop.project.write_document(render(entries), entries)
        own = tmp_path / str(number) / ".claude" / "projects" / folder_name(str(shop.work)) / "memory"
        own.mkdir(parents=True)
        (own / "MEMORY.md").write_text("- address: npm test first\n")
        payload = payloads.session_start("startup", cwd=str(shop.work), transcript_path=str(tmp_path / "none.jsonl"))
        shop.begin(session_id="another")  # the first one reads the configuration, for all that follow
        surplus = _beyond(_loaded(python, shop.home.path), python, shop.home.path, HOOKS / "session-start.py", payload)
        assert surplus <= HOT | OF_MEMORY, python
        assert [entry["said"] for entry in shop.booked()] == [render(entries[1:]).strip()], "Claude Code's own memory has the command"


# What the commands that are asked most often must not load: what only other commands, hosts and stores need.
FOR_OTHERS = {
    "asyncio", "http.client", "logging", "pathlib", "platform", "secrets", "shutil", "socket", "statistics", "subprocess", "tempfile",
    "urllib.parse", "uuid", "popkit_retention.core.hosts.codex", "popkit_retention.core.hosts.copilot",
    "popkit_retention.core.hosts.opencode", "popkit_retention.core.hosts.pi",
    "popkit_retention.lab",
    "popkit_retention.memory.extraction", "popkit_retention.memory.stores.in_memory", "popkit_retention.memory.stores.servers.neo4j",
    "popkit_retention.parallel", "popkit_retention.usage",
}  # fmt: skip
COMMANDS = (
    "--help",
    "memory --help",
    "memory status",
    "memory list",
    "memory admin search cart",
    "memory admin file",
    "retention show",
    "restore list",
)


def _loaded_by_command(python: Path, shop: Remembering, words: str) -> set[str]:
    """The modules that `popkit WORDS` loads in a project."""
    done = subprocess.run(
        [python, "-X", "utf8", "-S", "-E", "-X", "importtime", COMMAND_LINE, *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
        cwd=shop.work,
        env=shop.env(),
    )
    assert done.stdout or "Neo4j" in done.stderr, done.stderr
    return {line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.fixture
def remembering(tmp_path: Path) -> Remembering:
    """A project with memory, an item in it and a retention policy."""
    shop = Remembering(tmp_path)
    shop.remember()
    with closing(SqliteStore(str(shop.home.path / "memory.sqlite"))) as store:
        store.add([Item("m1", "the cart is in src/cart.py", project=shop.project.repository.key)])
    return shop


def test_a_command_loads_nothing_that_only_others_need(pythons: list[Path], remembering: Remembering) -> None:
    for python in pythons:
        for words in COMMANDS:
            assert _loaded_by_command(python, remembering, words) & FOR_OTHERS == set(), (python, words)


def test_only_the_store_that_the_settings_name_is_loaded(remembering: Remembering) -> None:
    python, stores, common = Path(sys.executable), "popkit_retention.memory.stores.", ("opening", "protocol", "shared")
    loaded = _loaded_by_command(python, remembering, "memory status")
    assert {name for name in loaded if name.startswith(stores)} == {
        stores + name for name in (*common, "sqlite", "sqlite_schema", "sqlite_shortlist")
    }
    (remembering.home.path / "retention-config.json").write_text('{"memory": {"store": "neo4j://localhost:1"}}')
    loaded = _loaded_by_command(python, remembering, "memory status")
    assert {name for name in loaded if name.startswith(stores)} == {
        stores + name for name in (*common, "servers", "servers.neo4j", "servers.neo4j_schema")
    }
    assert "sqlite3" not in loaded


def test_every_module_of_the_library_imports(pythons: list[Path]) -> None:
    found = [(ROOT, path) for path in sorted((HOOKS / "utils").rglob("*.py"))]
    found += [(SERVICES, path) for path in BARE_SERVICES]
    names = [".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__") for folder, path in found]
    code = "import importlib, sys; sys.path.append(sys.argv[1]); [importlib.import_module(name) for name in sys.argv[2:]]"
    for python in pythons:
        command = [python, "-S", "-E", "-W", "error", "-c", code, SERVICES, *names]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=HANG_S)
        assert done.returncode == 0, (python, done.stderr)


def test_every_entry_script_is_started_by_hooks_json() -> None:
    started = re.findall(r'(?:hooks/popkit\\" |POPKIT_HOOK=)([a-z-]+)', (HOOKS / "hooks.json").read_text())
    scripts = {path.stem for path in HOOKS.glob("*.py")} - {"__init__", "pack", "popkit"}
    assert set(started) == scripts == {"post-tool-use", *OTHERS}


def _imported(path: Path) -> set[str]:
    """The packages that a file imports by their whole names, but for those of the standard library."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add(node.module.split(".")[0])
    return imported - sys.stdlib_module_names - {"_sha2"}  # new in Python 3.12


knows_its_own_modules = pytest.mark.skipif(sys.version_info < (3, 10), reason="this Python does not know the names of its own modules")


@knows_its_own_modules
def test_hooks_import_nothing_but_themselves_and_the_standard_library() -> None:
    ours = {"pack", "utils"}
    surplus = {path: _imported(path) - (ours if path.parent == HOOKS else set()) for path in {*HOOKS.rglob("*.py")} - {COMMAND_LINE}}
    assert {path: names for path, names in surplus.items() if names} == {}


@knows_its_own_modules
def test_the_command_line_needs_nothing_installed() -> None:
    ours = {"hooks", "popkit_retention"}
    surplus = {path: _imported(path) - ours - WITHIN_A_FUNCTION.get(path, set()) for path in (COMMAND_LINE, *BARE_SERVICES)}
    assert {path: names for path, names in surplus.items() if names} == {}


def test_no_signature_shows_the_environment() -> None:
    """Its keys are secrets, and `help` prints defaults. The two programs' own `main` take it so, and nobody asks for their help."""
    shown = []
    for path in (path for tree in ("hooks", "power-mode") for path in (ROOT / tree).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "main":
                defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                shown += [f"{path}: {node.name}" for default in defaults if ast.unparse(default) == "os.environ"]
    assert shown == []
