"""Find the program that a command really runs, behind wrappers such as `sudo`, `timeout 30`, `npx`, `uv run` or `bash -c`. Pure.

Some of these make it run in an environment of its own.
"""

from __future__ import annotations

from ..parts import LESS, OTHERWISE, UNKNOWN, normal_path
from .command import word_at
from .programs import ALIASES, INTERPRETERS, PREFIX_SUBCOMMANDS, PREFIXES, SCRIPT_RUNNERS, SHELLS, SUBCOMMANDS, TASKS, TOOLS, Table

# Nobody wraps deeper; what does is something else.
_DEEPEST = 10
_EXTENSIONS = (".exe", ".cmd", ".bat", ".js", ".mjs", ".cjs")
# Programs of which it does not matter that they start another, whatever their options.
_TRANSPARENT = frozenset(
    "time nice ionice exec stdbuf caffeinate xvfb-run dbus-run-session nohup setsid command builtin unbuffer timeout gtimeout".split()
)
# It matters only how these start it: of an `env` without options, or an `npx` of what the project has installed, nothing is left.
_PLAIN = frozenset("env npx bunx winpty cross-env c8 nyc npm pnpm yarn bun bundle coverage".split())
# Of each, the options that do not matter; of those that are not named, these: _QUIET.
_QUIET = "-- -q --quiet"
_NEUTRAL = Table("""
env sudo doas xargs bundle direnv cross-env: --
npx bunx npm pnpm yarn bun c8 nyc: -- -y --yes --no-install -q --quiet -s --silent
uv uvx pixi: -- -m -q --quiet --frozen --locked --no-sync
coverage pipenv hatch rye: -- -m -q --quiet
docker: -- -T -i -t -it -ti --rm -q --quiet
""")
_SHORTENS = frozenset(("chronic", "rtk"))
# The options that name the folder.
_FOLDERS = Table("""
env: -C --chdir
sudo: -D --chdir
uv: --directory
poetry: -C --directory
mise: -C --cd
conda mamba: --cwd
""")
_PYTHON_VALUES = ("-W", "-X", "-Q", "--check-hash-based-pycs")
_SAME_FOR_ALL = ("/usr/bin/", "/bin/", "/usr/local/bin/")


class InnerCommand:
    """The command that runs in the end: a program with its words, or the text of a `script` for a shell, None where it is fed that."""

    __slots__ = ("cwd", "outer", "program", "script", "words")

    def __init__(self, program: str, words: list[str], cwd: str, outer: tuple[str, ...], script: str | None = ""):
        self.program = program
        self.words = words
        self.cwd = cwd
        self.outer = outer
        self.script = script


def program_of(word: str) -> str:
    """Return the name of a program without its folder, extension and version: `.venv/bin/pytest`, `eslint@8`, `python3.11`."""
    if word.isalpha():
        return ALIASES.get(word, word)
    if word in ALIASES:
        return ALIASES[word]
    name = word.replace("\\", "/").rpartition("/")[2] or word
    # The name of a scoped package keeps its scope: `@biomejs/biome@2`.
    name = "@" + word[1:].partition("@")[0] if word[:1] == "@" else name.partition("@")[0]
    if name.endswith(_EXTENSIONS):
        name = name[: name.rindex(".")]
    if name.startswith(("python", "pypy")):
        name = name.rstrip("0123456789.")
        return "python" if name in ("python", "pypy") else name
    return ALIASES.get(name, name)


def unwrap(words: list[str], cwd: str) -> InnerCommand:
    """Return the innermost program; the words of an unknown one are left alone."""
    outer: tuple = ()
    program = program_of(words[0])
    for _ in range(_DEEPEST):
        outer += _place_of(words[0], program, cwd)
        if program in SHELLS:
            return InnerCommand(program, words, cwd, outer, _script_of(program, words))
        if program in INTERPRETERS:
            at, inner_program = _tool_behind(program, words)
            if at > 0:
                outer += tuple([OTHERWISE + word for word in words[1:at] if word not in ("-m", "-u", "-B")])
        elif program in PREFIXES:
            own, *values = PREFIXES[program].split()
            at, inner_program = _behind(words, 1, values, int(own)), ""
            if program == "command" and words[1:2] and words[1][:1] == "-":
                break
            outer += _started_by(program, words[:at])
            cwd = _folder_of(program, words[:at], cwd)
        elif program in PREFIX_SUBCOMMANDS:
            at, cwd, outer = _behind_subcommand(program, words, cwd, outer)
            inner_program = ""
            if at > 0:
                outer += _started_by(program, words[:at])
        else:
            break
        if not 0 < at < len(words):
            break
        words = words[at:]
        program = inner_program or program_of(words[0])
    return InnerCommand(program, words, cwd, outer)


def _place_of(word: str, program: str, cwd: str) -> tuple[str, ...]:
    """Return the mark of a program that is not the one that its bare name starts: of another folder, or of a certain version."""
    if word == program or word.isalpha():
        return ()
    if "/" in word:
        folder = word.rpartition("/")[0]
        if folder.endswith("node_modules/.bin") or word.startswith(_SAME_FOR_ALL) or program in SHELLS:
            return ()
        folder = normal_path(folder, cwd)
        return () if folder == cwd or word[:1] == "@" else (OTHERWISE + "of " + folder.removesuffix("/bin"),)
    if "@" in word[1:] or (program == "python" and word not in ("python3", "py")):
        return (OTHERWISE + word,)
    return ()


def _started_by(program: str, words: list[str]) -> tuple[str, ...]:
    """Return the marks of a program that starts another: how it does that, and the variables that it sets."""
    if program in _TRANSPARENT:
        return (OTHERWISE + "exec -c",) if program == "exec" and any(word[:1] == "-" and "c" in word for word in words) else ()
    if program == "xargs":
        return (OTHERWISE + UNKNOWN + "xargs",)
    neutral = _NEUTRAL.get(program, _QUIET).split()
    own = [word for word in words[1:] if word not in neutral]
    if program == "docker" and own[-2:-1] != ["run"]:
        # The container and the folder in it are named by the folder of what runs.
        folder = ("-w", "--workdir")
        own = [word for before, word in zip(["", *own], own[:-1]) if word not in ("compose", "exec", *folder) and before not in folder]
        return (OTHERWISE + " ".join([program, *own]),) if own else ()
    variables = [word for word in own if "=" in word and word.partition("=")[0].isidentifier()] if program in PREFIXES else []
    rest = [word for word in own if word not in variables]
    if program in _PLAIN and not [word for word in rest if word[:1] == "-"]:
        return tuple(variables)
    how = " ".join([program, *rest])
    return (*variables, LESS + how if program in _SHORTENS else OTHERWISE + how)


def _folder_of(program: str, words: list[str], cwd: str) -> str:
    """Return the folder in which `env -C a` or `uv run --directory a` starts a program."""
    folder = ""
    for word, following in zip(words, [*words[1:], ""]):
        name, equals, value = word.partition("=")
        if name in _FOLDERS.get(program, "").split():
            folder = value if equals else following
    return normal_path(folder, cwd) if folder else cwd


def _behind(words: list[str], at: int, values: list[str], own: int) -> int:
    """Return the place of the other program's name."""
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word[:1] == "-":
            at += 2 if word in values else 1
        elif "=" in word and word.partition("=")[0].isidentifier():
            at += 1
        elif own:
            own -= 1
            at += 1
        else:
            break
    return min(at, len(words))


def _behind_subcommand(program: str, words: list[str], cwd: str, outer: tuple) -> tuple[int, str, tuple]:
    own, subcommands, *values = PREFIX_SUBCOMMANDS[program].split()
    names = subcommands.split(",")
    if program in SCRIPT_RUNNERS:
        from .runs import Limits, next_name

        limits = Limits("script", cwd)
        at = next_name(words, 1, limits)
        if at >= len(words) or words[at] not in names:
            return 0, cwd, outer
        return _behind(words, at + 1, values, 0), limits.cwd, tuple(limits.items)
    at = _behind(words, 1, values, 0)
    if program == "docker" and words[at : at + 1] == ["compose"]:
        at = _behind(words, at + 1, values, 0)
    if at >= len(words) or words[at] not in names:
        return 0, cwd, outer
    inner = _behind(words, at + 1, values, int(own))
    if program == "docker":
        container = words[inner - 1] if words[inner - 1] != "--" else words[inner - 2]
        folder = next((words[place + 1] for place in range(1, inner - 1) if words[place] in ("-w", "--workdir")), "")
        cwd = f"docker:{container}:{folder}"
    elif program == "uv" and "-m" in words[at:inner]:
        inner = at + words[at:inner].index("-m") + 1
    return inner, _folder_of(program, words[:inner], cwd), outer


def _tool_behind(program: str, words: list[str]) -> tuple[int, str]:
    """Return the tool that an interpreter runs: `python -m pytest`, `php artisan`, `node node_modules/.bin/jest`."""
    at = 1
    while at < len(words) and words[at][:1] == "-":
        if words[at] == "-m" and program == "python":
            module = word_at(words, at + 1)
            known = module in TOOLS or module in SUBCOMMANDS or module in PREFIX_SUBCOMMANDS
            return (at + 1, module) if known else (0, "")
        if words[at] in ("-c", "-e", "-p", "-", "--test", "-r", "--eval", "--print"):
            return 0, ""
        at += 2 if words[at] in _PYTHON_VALUES else 1
    if at < len(words):
        tool = program_of(words[at])
        if tool != "build" and tool != "node" and (tool in TOOLS or tool in SUBCOMMANDS or tool in TASKS):
            return at, tool
    return 0, ""


def _script_of(program: str, words: list[str]) -> str | None:
    """Return the text that a shell is to run: "" where it is in a file, or only parsed; None where the shell is fed it."""
    if program == "eval":
        return " ".join(words[1:])
    at, is_fed = 1, False
    while at < len(words) and words[at][:1] in ("-", "+") and words[at][1:] not in ("", "-"):
        word = words[at]
        at += 1
        if word[1] == "-":
            continue
        takes_a_name = word[-1] in "oO"  # `-o pipefail`, `-euo pipefail`, `+O extglob`
        if word[0] == "-" and ("n" in word or (takes_a_name and words[at : at + 1] == ["noexec"])):
            return ""
        at += takes_a_name
        if word[0] == "-" and "c" in word:
            return word_at(words, at)
        is_fed = is_fed or "s" in word
    return None if is_fed or words[at : at + 1] in ([], ["-"]) else ""
