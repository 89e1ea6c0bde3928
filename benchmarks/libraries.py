"""What a library of memory or of requests costs to install, to import and to try, and what it says to a mistake.

    python benchmarks/libraries.py [--only NAME ...] [--rounds N] [--folder FOLDER] [--json]

Each library is installed in a virtual environment of its own: this project as the wheel that is built of it, the others from PyPI. MB and
distributions are what then lies there. Whole processes are timed in turn, in rounds: `python -I -c pass` of the environment, the import
that the library's documents begin with, and their quick start. The figures are medians of the ratios to the bare start in the same round,
of process time (`cpu`) and of elapsed time (`wall`). No process has a key, a server or a home with anything in it; mem0's telemetry and
LiteLLM's download of prices are switched off. What the quick start and each mistake gave is printed as it came.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from library_programs import LIBRARIES, Library
from sections import table

ROOT = Path(__file__).resolve().parent.parent
BARE = "pass"
LONGEST = 200  # characters of a result
PATIENCE_S = 600.0
COMPLETE = "complete"
# The last line that it prints is {"result"} or {"error", "says"}.
TRY = """
import sys
names = {}
try:
    exec(sys.argv[1], names)
    outcome = {"result": repr(names["result"])}
except Exception as error:
    outcome = {"error": type(error).__name__, "says": (str(error).splitlines() or [""])[0]}
import json
print()
print(json.dumps(outcome), flush=True)
"""


class NotInstalled(Exception):
    """What pip said."""


class Run(NamedTuple):
    """Seconds that a process took, and what it printed."""

    cpu: float
    wall: float
    printed: str


def install(library: Library, folder: Path) -> Path:
    """The environment of a library: as it lies in the folder, or made. This project is always installed anew."""
    place = folder / library.name.replace(" ", "-")
    if library.requirement and (place / COMPLETE).exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place)
    told(f"{library.name}: installing")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, library.requirement or wheel(place) + library.extra], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled((done.stderr.strip().splitlines() or ["pip said nothing"])[-1])
    (place / COMPLETE).touch()
    return place


def wheel(folder: Path) -> str:
    """The path of this project's wheel, built in a folder."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled((done.stderr.strip().splitlines() or ["hatchling said nothing"])[-1])
    return str(next(folder.glob("*.whl")))


def told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(place: Path, *words: str) -> Run:
    """Runs the environment's Python, in an empty folder that is also its home."""
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.defpath, "LC_ALL": "C.UTF-8", "MEM0_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [str(place / "bin" / "python"), "-I", "-c", *words]
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stdout)


def outcome(printed: str) -> dict[str, str]:
    """What a program that was tried came to; a process that ended before it could say so printed nothing."""
    lines = printed.strip().splitlines()
    try:
        found: dict[str, str] = json.loads(lines[-1])
    except (IndexError, ValueError):
        return {"error": "the process ended", "says": ""}
    return {key: text if len(text) <= LONGEST else text[: LONGEST - 1] + "…" for key, text in found.items()}


def measured(places: dict[str, Path], rounds: int) -> dict[str, dict[str, float]]:
    """Library -> the medians of its ratios, and of the bare start in milliseconds of process time."""
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in places}
    for number in range(rounds):
        told(f"round {number + 1} of {rounds}")
        for library in [each for each in LIBRARIES if each.name in places]:
            place, its = places[library.name], found[library.name]
            bare, imported, tried = run(place, BARE), run(place, library.entry), run(place, TRY, library.first)
            its["bare_ms"].append(bare.cpu * 1000)
            for name, timed in (("import", imported), ("first", tried)):
                its[name + "_cpu"].append(timed.cpu / bare.cpu)
                its[name + "_wall"].append(timed.wall / bare.wall)
    return {library: {name: round(statistics.median(figures), 2) for name, figures in its.items()} for library, its in found.items()}


def _installed(library: Library, place: Path) -> dict[str, object]:
    """A library's version, and what its environment holds of packages."""
    site = next(place.glob("lib/python*/site-packages"))
    installed = {each.metadata["Name"].lower(): each.version for each in importlib.metadata.distributions(path=[str(site)])}
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    return {
        "library": library.name,
        "version": installed[library.requirement or "popkit-retention"],
        "MB": round(size / 1e6, 1),
        "distributions": len(installed),
    }


def compared(names: list[str], rounds: int, folder: Path) -> list[dict[str, object]]:
    """A row for each library: its figures and `outcomes`, or what it `failed` with."""
    places: dict[str, Path] = {}
    failed: dict[str, str] = {}
    libraries = [each for each in LIBRARIES if each.name in names]
    for library in libraries:
        try:
            places[library.name] = install(library, folder)
        except NotInstalled as error:  # noqa: PERF203  the others are measured
            failed[library.name] = str(error)
    figures = measured(places, rounds)
    return [
        {"library": library.name, "failed": failed[library.name]}
        if library.name in failed
        else {**_installed(library, places[library.name]), **figures[library.name], "outcomes": _tried(library, places[library.name])}
        for library in libraries
    ]


def _tried(library: Library, place: Path) -> dict[str, dict[str, str]]:
    programs = {"first result": library.first, **library.mistakes}
    return {what: outcome(run(place, TRY, program).printed) for what, program in programs.items()}


def written(rows: list[dict[str, object]]) -> str:
    """The rows as a table, with what came of each program below it."""
    heads = [{head: value for head, value in row.items() if head != "outcomes"} for row in rows if "failed" not in row]
    lines = [table(heads)] if heads else []
    lines += [f"{row['library']}: not installed: {row['failed']}" for row in rows if "failed" in row]
    for row in rows:
        outcomes = row.get("outcomes")
        if isinstance(outcomes, dict):
            lines += ["", str(row["library"])]
            lines += [f"  {what}: {its.get('result') or its['error'] + ': ' + its['says']}" for what, its in outcomes.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [library.name for library in LIBRARIES]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="keeps the environments for the next time; otherwise they lie in a temporary folder")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = compared(options.only, options.rounds, (options.folder or Path(temporary)).resolve())
    print(json.dumps(rows, indent=1, ensure_ascii=False) if options.json else written(rows))


if __name__ == "__main__":
    main()
