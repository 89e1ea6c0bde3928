"""What makes two test, build, lint or type-check runs the same run. Pure.

A run is named by its tool or script and its folder (the key) and by what it is limited to (the scope): paths, `k=` for tests selected by
name, `p=` for packages. How it reports does not matter: verbosity, colour, coverage, reporters, stopping at the first failure.
"""

from __future__ import annotations

from .parts import PACKAGE, SELECTION, UNKNOWN, normal_path
from .programs import (
    FLAGS, MANAGER_COMMANDS, NAMED_TARGETS, NO_RUN, ONLY_WITH, SCRIPT_RUNNERS, SUBCOMMANDS, TASKS, TASKS_ANY, TOOLS, WORD_FAMILIES,
)  # fmt: skip

# A run limited to more than this is known by none of it: it covers nothing and nothing but a full run covers it.
MOST_TARGETS = 64
_NO_FLAGS: dict[str, str] = {}
_ASKS = frozenset(("--version", "--help", "-V", "-h"))
_TASK_VERBS = frozenset(("nx", "turbo", "lerna", "moon"))
_VERBS = frozenset(("run", "run-many", "affected", "run-script", "foreach", "exec"))


class Run:
    """`family` is test, build, lint or types, or empty where the name does not say."""

    __slots__ = ("family", "name", "part")

    def __init__(self, family, name, identity, scope, cwd):
        self.family = family
        self.name = name
        where = UNKNOWN if cwd.startswith(UNKNOWN) else cwd
        self.part = (f"run:{identity}@{where}", scope)


def family_of(name: str) -> str:
    """The family that the name of a script, task or target tells; empty for none, `no` for those that never end or change the world."""
    family = WORD_FAMILIES.get(name)
    if family:
        return family
    words = name.lower().replace("-", ":").replace("_", ":").replace("/", ":").replace(".", ":").split(":")
    if words[0] in NO_RUN:
        return "no"
    for at, word in enumerate(words):
        if word in WORD_FAMILIES and (word != "type" or words[at + 1 : at + 2] == ["check"]):
            return WORD_FAMILIES[word]
    return ""


def run_of(program: str, words: list[str], cwd: str, packages: tuple = ()) -> Run | None:
    """The run that the words start (`words[0]` stands for `program`), None when they start none."""
    if program in SCRIPT_RUNNERS:
        return _script(program, words, cwd, packages)
    if program in TOOLS:
        if not _ASKS.isdisjoint(words[1:]) or (program in ONLY_WITH and not any(word in words for word in ONLY_WITH[program])):
            return None
        first = 2 if program in ("vitest", "eslint", "golangci-lint", "unittest") and words[1:2] in (["run"], ["discover"]) else 1
        return _tool(TOOLS[program], program, program, words, first, cwd, packages)
    if program in TASKS:
        return _tasks(program, words, cwd, packages)
    if program in SUBCOMMANDS:
        return _subcommand(program, words, cwd, packages)
    return None


def _tool(family: str, tool: str, identity: str, words: list[str], at: int, cwd: str, packages) -> Run | None:
    limits = Limits(tool, cwd, packages)
    limits.read(words, at)
    label = identity.replace(":", " ")
    return Run(family, limits.title(label), identity, limits.scope(), limits.cwd)


class Limits:
    """What the words behind a run limit it to."""

    __slots__ = ("cwd", "flags", "items", "tool")

    def __init__(self, tool, cwd, packages=()):
        self.tool = tool
        self.cwd = cwd
        self.flags = FLAGS.get(tool, _NO_FLAGS)
        self.items = [PACKAGE + package for package in packages]

    def read(self, words: list[str], at: int) -> None:
        count = len(words)
        while at < count:
            word = words[at]
            at += 1
            if word[:1] == "-":
                at += self.option(word, words[at] if at < count else "")
            elif self.tool == "make" and "=" in word:
                self.items.append(SELECTION + word)
            else:
                self.target(word)

    def option(self, word: str, following: str) -> int:
        """Reads an option and says how many words its value took."""
        name, equals, value = word.partition("=")
        letter = self.flags.get(name)
        taken = 0
        if letter is None:
            letter = self.flags.get(word[:2])
            if letter not in ("k", "p", "d", "K") or word[1:2] == "-" or len(word) == 2 or self.tool in ("go", "xcodebuild", "script"):
                return 0
            name, value = word[:2], word[2:].lstrip("=")
        elif letter != "b" and not equals and (name != "-j" or following.isdigit()):
            value = following
            taken = 1
        if letter == "k":
            self.items.append(SELECTION + value)
        elif letter == "K":
            self.items.append(f"{SELECTION}{name.lstrip('-')}:{value}")
        elif letter == "b":
            self.items.append(SELECTION + name.lstrip("-"))
        elif letter == "p":
            self.items.append(PACKAGE + value)
        elif letter == "d":
            self.cwd = normal_path(value, self.cwd)
        return taken

    def target(self, word: str) -> None:
        if self.tool == "go" or self.tool == "gotestsum":
            word = _go_target(word)
        elif self.tool in NAMED_TARGETS:
            word = SELECTION + word
        elif self.tool == "unittest" and "/" not in word:
            word = word[:-3] if word.endswith(".py") else word.replace(".", "/")
        else:
            word = self.path(word)
        if word and word != ".":
            self.items.append(word)

    def path(self, word: str) -> str:
        word = word.replace("\\", "/")
        if word[:2] == "./":
            word = word[2:]
        if word[:1] == "/" and word.startswith(self.cwd + "/"):
            word = word[len(self.cwd) + 1 :]
        return word.rstrip("/")

    def scope(self) -> list[str]:
        items = [UNKNOWN + item if "$" in item or "`" in item else item for item in {*self.items}]
        return [UNKNOWN + "many"] if len(items) > MOST_TARGETS else sorted(items)

    def title(self, label: str) -> str:
        return " ".join([label, *[item[2:] if item[1:2] == "=" else item for item in self.items[:3]]])


def _go_target(word: str) -> str:
    """`./...` is everything, `./a/...` all below `a`, `./a` only `a` itself."""
    if word[:2] == "./":
        word = word[2:]
    if word == "...":
        return ""
    if word.endswith("/..."):
        return word[:-4]
    return "./." if word in (".", "") else word.rstrip("/") + "/."


def _script(program: str, words: list[str], cwd: str, packages) -> Run | None:
    """A script of package.json; npm, yarn, pnpm and bun run the same script the same way."""
    limits = Limits("script", cwd, packages)
    at = next_name(words, 1, limits)
    name = words[at] if at < len(words) else ""
    if not _ASKS.isdisjoint(words[1 : at + 2]):
        return None
    if name == "workspace" and program == "yarn":
        limits.items.append(PACKAGE + "".join(words[at + 1 : at + 2]))
        at = next_name(words, at + 2, limits)
        name = words[at] if at < len(words) else ""
    spoken = name in ("run", "run-script", "recursive", "workspaces", "foreach", "m", "multi")
    while name in ("run", "run-script", "recursive", "workspaces", "foreach", "m", "multi"):
        at = next_name(words, at + 1, limits)
        name = words[at] if at < len(words) else ""
    if program == "bun" and not spoken and name in ("test", "build"):
        return _tool(name, "bun", "bun:" + name, words, at + 1, limits.cwd, _packages(limits))
    if name in ("t", "tst") and not spoken:
        name = "test"
    if not spoken and name != "test":
        if program == "npm" or name in MANAGER_COMMANDS:
            return None
        if name in TOOLS or (name in SUBCOMMANDS and name != program):
            return run_of(name, words[at:], limits.cwd, tuple(_packages(limits)))
    family = family_of(name)
    if not family or family == "no" or (program == "bun" and "." in name):
        return None
    limits.read(words, at + 1)
    label = f"{program} {name}" if not spoken or name == "test" else f"{program} run {name}"
    return Run(family, limits.title(label), "npm:" + name, limits.scope(), limits.cwd)


def _packages(limits: Limits) -> list[str]:
    return [item[len(PACKAGE) :] for item in limits.items if item.startswith(PACKAGE)]


def next_name(words: list[str], at: int, limits: Limits) -> int:
    """The place of the next word that is no option, which are read on the way."""
    while at < len(words) and words[at][:1] == "-":
        word = words[at]
        at += 1 + limits.option(word, words[at + 1] if at + 1 < len(words) else "")
    return at


def _tasks(program: str, words: list[str], cwd: str, packages) -> Run | None:
    """Tasks are what is run, so they are in the key; their order does not matter."""
    if not _ASKS.isdisjoint(words[1:]):
        return None
    limits = Limits(program, cwd, packages)
    tasks: list[str] = []
    many = program == "nx" and words[1:2] in (["run-many"], ["affected"])
    family = ""
    at = 1
    while at < len(words):
        word = words[at]
        if program == "nx" and word.partition("=")[0] in ("-t", "--target", "--targets"):
            word = word.partition("=")[2] or "".join(words[at + 1 : at + 2])
            at += "=" not in words[at]
        elif word[:1] == "-":
            at = next_name(words, at, limits)
            continue
        at += 1
        if "=" in word:
            limits.items.append(SELECTION + word)
        elif program == "nx" and tasks and not many:
            limits.items.append(PACKAGE + word)
        elif not (word in _VERBS and program in _TASK_VERBS) and not (word == "clean" and program in ("gradle", "mvn", "sbt")):
            package, colon, task = _split_task(program, word)
            if package:
                limits.items.append(PACKAGE + package)
            if len(tasks) < MOST_TARGETS and task not in tasks:
                tasks.append(task)
            family = family or family_of(task)
    if program in TASKS_ANY:
        family = "build" if not tasks and program in ("make", "ninja") else "" if family == "no" else family
    elif not family or family == "no":
        return None
    identity = program + "".join([":" + task for task in sorted(tasks)])
    return Run(family, limits.title(" ".join([program, *tasks[:3]])), identity, limits.scope(), limits.cwd)


def _split_task(program: str, task: str) -> tuple[str, str, str]:
    if program == "gradle" and ":" in task:
        return task.rpartition(":")
    if program == "nx" and ":" in task:
        return task.partition(":")
    return "", "", task


def _subcommand(program: str, words: list[str], cwd: str, packages) -> Run | None:
    limits = Limits(program, cwd, packages)
    at = next_name(words, 1, limits)
    known = SUBCOMMANDS[program]
    if program == "cargo" and words[at : at + 1] and words[at][0] == "+":
        at = next_name(words, at + 1, limits)
    if program == "node" or program == "xcodebuild":
        at = next((place for place, word in enumerate(words) if word in known), len(words))
        limits = Limits(program, cwd, packages)
        words = words[at : at + 1] + words[1:at] + words[at + 1 :]
        at = 0
    name = words[at] if at < len(words) else ""
    family = known.get(name)
    if program == "docker" and name in ("buildx", "compose"):
        at = next((place for place, word in enumerate(words) if word == "build"), 0)
        family = family if at else None
    if family is None or not _ASKS.isdisjoint(words[at:]):
        return None
    if program == "cargo":
        name = {"t": "test", "b": "build", "c": "check"}.get(name, name)
        if name == "nextest":
            at += 1
        elif "--" in words and family != "test":
            words = words[: words.index("--")]  # what follows goes to the compiler
    limits.read(words, at + 1)
    identity = f"{program}:{name.lstrip('-')}"
    return Run(family, limits.title(identity.replace(":", " ")), identity, limits.scope(), limits.cwd)
