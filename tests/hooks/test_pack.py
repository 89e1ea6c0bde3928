"""The file that hooks find their modules in may be cut, foreign, stale or gone: no hook fails for it."""

from __future__ import annotations

import marshal
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks import payloads, processes
from tests.kit.forks import Forks, Program
from tests.patience import HANG_S

SCRIPT = "post-tool-use"


class Plugin:
    """A copy of what a hook needs, whose byte code is its own."""

    def __init__(self, folder: Path):
        self.root = folder / "plugin"
        self.home = processes.Home(folder)
        processes.copy_hooks(self.root / "hooks")
        shutil.copy(processes.ROOT / "retention-config.json", self.root)
        self.calls = 0

    def run(self, call: dict | None = None, *options: str) -> processes.Done:
        self.calls += 1
        argv = [sys.executable, "-S", "-E", *options, str(self.root / "hooks" / f"{SCRIPT}.py")]
        return processes.run_argv(argv, call or payloads.bash(f"mkdir {self.calls}"), self.home.env())

    @property
    def packs(self) -> list[Path]:
        return sorted((self.root / "hooks" / "utils" / "__pycache__").glob("popkit*.pack*"))

    def index(self) -> int:
        return self.home.state(payloads.SESSION).index


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    plugin = Plugin(tmp_path)
    for _ in range(2):
        assert plugin.run().silent
    if len(plugin.packs) != 1:
        pytest.skip("no pack is made here")
    return plugin


def _indexed(good: bytes, index: object) -> bytes:
    """A pack with the right header and another index."""
    header = good[: good.index(b"\n", 8) + 1]
    data = marshal.dumps(index)
    return header + (len(header) + 16 + len(data)).to_bytes(8, "big") + len(data).to_bytes(8, "big") + data


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda good: b"",
    "of another version": lambda good: b"\0\0\0\0" + good[4:],
    "zeros": lambda good: b"\0" * len(good),
    "cut in its header": lambda good: good[:7],
    "cut in its index": lambda good: good[:200],
    "with an empty index": lambda good: _indexed(good, ({}, {})),
}
HARMFUL: dict[str, Callable[[bytes], bytes]] = {
    "cut in the middle": lambda good: good[: len(good) // 2],
    "cut before its end": lambda good: good[: len(good) * 9 // 10],
    "with a list for an index": lambda good: _indexed(good, [1, 2]),
    "with an index of numbers": lambda good: _indexed(good, ({"utils.io": 5, "utils.io.files": 6}, {})),
}  # fmt: skip


def _assert_recovers(plugin: Plugin, path: Path, bad: bytes) -> None:
    path.write_bytes(bad)
    before = plugin.index()
    for _ in range(2):
        ran = plugin.run()
        assert ran.silent, ran
    assert plugin.index() == before + 2
    assert plugin.home.failures() == []


def test_a_file_that_is_no_pack_is_replaced_by_one(plugin: Plugin):
    (path,) = plugin.packs
    good = path.read_bytes()
    for name, spoil in HARMLESS.items():
        _assert_recovers(plugin, path, spoil(good))
        assert len(plugin.packs[0].read_bytes()) > len(good) // 2, name


def test_a_pack_that_was_cut_or_is_wrong_costs_no_hook(plugin: Plugin):
    (path,) = plugin.packs
    good = path.read_bytes()
    for spoil in HARMFUL.values():
        _assert_recovers(plugin, path, spoil(good))


def _imported(ran: processes.Done) -> list[str]:
    """The modules of ours that an interpreter with `-X importtime` tells of."""
    names = [line.rpartition("|")[2].strip() for line in ran.stderr.decode().splitlines()]
    return [name for name in names if name.startswith("utils")]


def test_the_third_hook_runs_most_modules_without_an_import_of_each(plugin: Plugin):
    assert plugin.run().silent
    imported = _imported(plugin.run(payloads.bash("mkdir again"), "-X", "importtime"))
    loaded = [path for path in (plugin.root / "hooks" / "utils").rglob("*.py") if path.name != "__init__.py"]
    assert 0 < len(imported) < 12 < len(loaded)
    assert plugin.index() == 4


SPECS = """
import sys, pack
pack.use()
import utils.handlers.tool_calls
ours = [module for name, module in sys.modules.items() if name.startswith("utils")]
wrong = [one.__name__ for one in ours if (one.__spec__.name, one.__spec__.parent) != (one.__name__, one.__package__)]
print(len(ours), wrong, [one.__name__ for one in ours if one.__spec__._initializing])
"""


def test_a_module_that_comes_with_another_is_specified_as_one_that_is_imported(plugin: Plugin):
    # An import from a module whose specification does not say that it is done costs an error, up to Python 3.11.
    assert plugin.run().silent
    argv = [sys.executable, "-S", "-E", "-c", SPECS]
    done = subprocess.run(argv, cwd=plugin.root / "hooks", capture_output=True, text=True, check=True, timeout=HANG_S)
    count, _, rest = done.stdout.partition(" ")
    assert int(count) > 30
    assert rest == "[] []\n"


def _read(number: int) -> dict:
    return payloads.read(f"/project/app{number}.py", "value = compute(value)\n" * 350)


def _bash(number: int) -> dict:
    return payloads.bash(f"cd packages/{'acpw'[number]}pi && npm test -- --silent 2>&1 | tail -20", f"ok {number} tests passed\n" * 40)


@pytest.mark.parametrize(
    ("call", "most_modules", "most_bytes"),
    [pytest.param(_read, 44, 336_000, id="Read"), pytest.param(_bash, 58, 489_000, id="Bash")],
)
def test_an_ordinary_call_loads_few_modules_and_little_code(
    plugin: Plugin, call: Callable[[int], dict], most_modules: int, most_bytes: int
):
    # Loading and running code is half of what a hook costs beyond a bare start. Each call is the first look at something. The bytes are
    # those of Python 3.11, which has most.
    for number in range(3):
        assert plugin.run({**call(number), "tool_use_id": f"toolu_{number}"}).silent
    asked = _imported(plugin.run({**call(3), "tool_use_id": "toolu_3"}, "-X", "importtime"))
    data = plugin.packs[0].read_bytes()
    at = data.index(b"\n", 8) + 1
    entries, _ = marshal.loads(data[at + 16 : at + 16 + int.from_bytes(data[at + 8 : at + 16], "big")])  # noqa: S302  our own file
    names = [name for entry in asked for name in entries[entry][3]]
    assert asked[:2] == ["utils", "utils.handlers"]
    assert len(names) == len(set(names)) <= most_modules, names
    assert sum(entries[name][5][-1] - entries[name][4] for name in asked) <= most_bytes


def test_a_source_that_has_changed_is_taken_instead_of_its_packed_code(plugin: Plugin):
    source = plugin.root / "hooks" / "utils" / "handlers" / "tool_calls.py"
    source.write_text(source.read_text() + "\n\ndef track(payload, environ):\n    return {'systemMessage': 'new'}\n")
    ran = plugin.run()
    assert ran.failed_open
    assert ran.stdout == b'{"systemMessage":"new"}'


def test_packed_code_fails_at_the_line_of_its_source(plugin: Plugin):
    source = plugin.root / "hooks" / "utils" / "handlers" / "tool_calls.py"
    source.write_text(source.read_text() + "\n\ndef track(payload: dict, environ: dict[str, str]) -> dict | None:\n    raise KeyError\n")
    line = len(source.read_text().splitlines())
    for _ in range(3):
        assert plugin.run().failed_open
    log = (plugin.home.path / "hooks.log").read_text()
    assert log.count(f"tool_calls.py:{line} in track") == 3


def test_modules_that_are_packed_together_still_change_one_by_one(plugin: Plugin):
    source = plugin.root / "hooks" / "utils" / "hosts" / "claude_code" / "calls.py"
    assert plugin.run().silent
    renamed = "def call_of(payload, at):\n    return call_before({**payload, 'tool_name': 'Renamed'}, at)\n"
    source.write_text(source.read_text() + "\n\ncall_before = call_of\n\n\n" + renamed)
    for _ in range(3):
        assert plugin.run().silent
    assert plugin.home.failures() == []
    assert {result.tool for result in plugin.home.state(payloads.SESSION).live.values()} >= {"Renamed"}


def test_hooks_that_make_the_pack_at_once_do_not_harm_each_other(forks: Forks, tmp_path: Path):
    plugin = Plugin(tmp_path)
    argv = [sys.executable, "-S", "-E", str(plugin.root / "hooks" / f"{SCRIPT}.py")]
    ended = forks.run_together([Program(argv, payloads.bash("mkdir a")) for _ in range(8)], plugin.home.env())
    assert all(done.silent for done in ended)
    assert plugin.run().silent
    assert plugin.index() == 9
    assert len(plugin.packs) <= 1, "nothing half-made stays"


def test_a_folder_of_byte_code_that_cannot_be_written_harms_nothing(plugin: Plugin):
    folder = plugin.packs[0].parent
    shutil.rmtree(folder)
    folder.write_text("a file where the folder should be\n")
    ran = plugin.run()
    assert ran.silent, ran
    assert plugin.home.failures() == []
    assert folder.read_text() == "a file where the folder should be\n"
