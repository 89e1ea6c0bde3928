"""Identify runs of tests, builds, linters or type checkers, so that a repeated run is recognised. Pure.

A run is named by its tool or script and its folder (the key) and by what it is limited to (the scope): paths, `k=` for tests selected by
name, `p=` for packages, and the marks of `parts.py` for options that show less or more (`run_options.py`), and for options and an
environment of which only the same is known to be the same. How it reports does not matter: verbosity, colour, reporters.
"""

from __future__ import annotations

from ..parts import AT_LEAST, AT_MOST, EVERY, LESS, MARKS, MORE, OTHERWISE, PACKAGE, SELECTION, UNKNOWN, has_variable, marked, normal_path
from . import programs
from .command import word_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# A run limited to more than this is known by none of it: it covers nothing and nothing but a full run covers it.
_MOST_TARGETS = 64
_ASKS = frozenset(("--version", "--help", "-V", "-h"))
# The whole folder, and the value of a switch: `--pretty false`.
_NO_TARGETS = (".", "true", "false")
_TASK_VERBS = ("nx", "turbo", "lerna", "moon")
# These write long options with one dash, or their letters are not known.
_LONG_WITH_ONE_DASH = ("go", "xcodebuild", "script")
_TAKE_VALUES = frozenset("kKpdvVLMNXFT")
# Of these a target is what is done, of one only with an `@`.
_STEPS = ("zig", "dune")
# Options of nx that take several words, and whether these are packages.
_LISTS = {"-t": False, "--target": False, "--targets": False, "-p": True, "--projects": True}
_EACH = ("recursive", "workspaces", "foreach", "m", "multi")
_VERBS = ("run", "run-many", "affected", "run-script", "foreach", "exec")


class Run:
    """`family` is test, build, lint or types, or empty where the name does not say."""

    __slots__ = ("family", "name", "part")

    def __init__(self, family: str, name: str, identity: str, scope: list, cwd: str):
        self.family = family
        self.name = name
        where = UNKNOWN if cwd.startswith(UNKNOWN) else cwd
        self.part = (f"run:{identity}@{where}", scope)


def family_of(name: str) -> str:
    """Return the family that the name of a script, task or target tells; empty for none, `no` for those that never end or change the
    world."""
    family = programs.WORD_FAMILIES.get(name)
    if family:
        return family
    words = name.lower().replace("-", ":").replace("_", ":").replace("/", ":").replace(".", ":").split(":")
    if words[0] in programs.NO_RUN:
        return "no"
    for at, word in enumerate(words):
        if word in programs.WORD_FAMILIES and (word != "type" or words[at + 1 : at + 2] == ["check"]):
            return programs.WORD_FAMILIES[word]
    return ""


def run_of(program: str, words: list[str], cwd: str, outer: Sequence[str] = ()) -> Run | None:
    """Return the run that the words start (`words[0]` is taken as `program`), None when they start none.

    `outer` is what limits it from outside: `p=` packages of a package manager's `exec`, marks, assignments in front of it."""
    if outer:
        outer = [item for item in map(_from_outside, outer) if item]
    if program in programs.SCRIPT_RUNNERS:
        return _script(program, words, cwd, outer)
    if program in programs.TOOLS:
        if (not _ASKS.isdisjoint(words[1:]) and program != "ctest") or not programs.ADMINISTRATION.isdisjoint(words[1:2]):
            return None
        if program in programs.ONLY_WITH and set(words).isdisjoint(programs.ONLY_WITH[program].split()):
            return None
        first = 2 if " ".join([program, *words[1:2]]) in programs.OWN_WORDS else 1
        return _tool(programs.TOOLS[program], program, program, words, first, cwd, outer)
    if program in programs.TASKS:
        return _tasks(program, words, cwd, outer)
    if program in programs.SUBCOMMANDS:
        return _subcommand(program, words, cwd, outer)
    return None


def _from_outside(item: str) -> str:
    """Return what limits a run as its scope has it; "" for what changes nothing."""
    if item.startswith((PACKAGE, *MARKS, *programs.VARIANT_VARIABLES)):
        return item
    name = item.partition("=")[0]
    return "" if name in programs.NEUTRAL_VARIABLES else (MORE if name in programs.TELLING_VARIABLES else OTHERWISE) + item


def marks_from_outside(outer: Sequence[str]) -> list[str]:
    """Return what makes whatever runs there another: marks, and assignments as marks."""
    items = [_from_outside(item) for item in outer]
    return [item if item.startswith(MARKS) else OTHERWISE + item for item in items if item and not item.startswith(PACKAGE)]


def _tool(family: str, tool: str, identity: str, words: list[str], at: int, cwd: str, outer: Sequence[str]) -> Run | None:
    limits = Limits(tool, cwd, outer)
    limits.read(words, at)
    return limits.run(family, identity.replace(":", " "), identity)


class Limits:
    """The limits that the words behind a run set to it."""

    __slots__ = ("cwd", "items", "letters", "marks", "repeated", "tool", "variants")

    def __init__(self, tool: str, cwd: str, outer: Sequence[str] = ()):
        self.tool = tool
        self.cwd = cwd
        self.letters: dict[str, str] | None = None
        self.repeated = ""
        self.items = [item for item in outer if item.startswith(PACKAGE)]
        self.marks = [item for item in outer if item.startswith(MARKS)]
        self.variants = [item for item in outer if not item.startswith((PACKAGE, *MARKS))]

    def read(self, words: list[str], at: int) -> None:
        count = len(words)
        while at < count:
            word = words[at]
            at += 1
            if word[:1] == "-":
                at += self.option(word, word_at(words, at))
            elif self.tool == "make":  # its targets are in its key
                self.items.append(SELECTION + word)
            else:
                self.target(word)

    def option(self, word: str, following: str) -> int:
        """Read an option and say how many words its value took."""
        if self.letters is None:
            from . import run_options  # most runs have no options

            self.letters = run_options.letters_of(self.tool)
        name, equals, value = word.partition("=")
        if self.tool == "xcodebuild" and word.startswith(("-only-testing:", "-skip-testing:")):
            name, equals, value = word.partition(":")
        letter = self.letters.get(word) or self.letters.get(name)
        consumed = 0
        if letter is None:
            letter = "" if self.tool in _LONG_WITH_ONE_DASH or word[1:2] == "-" or len(word) == 2 else self.letters.get(word[:2], "")
            if letter not in _TAKE_VALUES:
                return self.unknown(word)
            name, value = word[:2], word[2:].lstrip("=")
        elif letter in _TAKE_VALUES and not equals and (name != "-j" or following.isdigit()):
            value = following
            consumed = 1
            letter = self.letters.get(f"{name}={value}", letter)
        self.apply(letter, name, value)
        return consumed

    def unknown(self, word: str) -> int:
        """Read a cluster of known letters, or an option of which nothing is known."""
        letters = [(self.letters or {}).get("-" + letter, "") for letter in word[1:]] if word[1:2] != "-" else [""]
        if "" in letters or not _TAKE_VALUES.isdisjoint(letters):
            self.marks.append(OTHERWISE + word)
        else:
            for letter, name in zip(letters, word[1:]):
                self.apply(letter, "-" + name, "")
        return 0

    def apply(self, letter: str, name: str, value: str) -> None:
        """Note what an option means, by its letter in run_options.py."""
        if letter == "k":
            self.items.append(SELECTION + value)
        elif letter == "K":
            self.items.append(f"{SELECTION}{name.lstrip('-')}:{value}")
        elif letter == "b":
            self.items.append(SELECTION + name.lstrip("-"))
        elif letter == "V" or letter == "B":
            self.variants.append(f"{name}={value}" if value else name)
        elif letter == "p":
            # What is taken out of them is a selection.
            self.items += [(SELECTION if one[0] == "!" else PACKAGE) + one for one in value.split(",") if one not in ("", "*")]
        elif letter == "d":
            self.cwd = normal_path(value, self.cwd)
        elif letter in "lLmM" or (letter == "F" and ":" in value) or (letter == "T" and _is_short(value)):
            self.marks.append((MORE if letter in "mM" else LESS) + (f"{name}={value}" if value else name))
        elif letter == "r":
            self.repeated += name.lstrip("-")[0]
            if 1 < len(self.repeated) < 4:
                self.marks.append(f"{LESS}-{self.repeated}")
        elif letter == "a":
            self.items.append(PACKAGE + EVERY)
        elif letter == "N" or letter == "X":
            self.marks += [f"{MORE}{AT_LEAST}{value}", OTHERWISE + "number"] if letter == "N" else [f"{LESS}{AT_MOST}{value}"]

    def outer(self) -> list[str]:
        """Return the limits as those from outside of a run that is started in this place."""
        return [*self.items, *self.marks, *[OTHERWISE + variant for variant in self.variants]]

    def target(self, word: str) -> None:
        if self.tool in _STEPS and (word[:1] == "@" or self.tool == "zig"):
            self.variants.append(word)
            return
        if self.tool in programs.GO_PATTERNS:
            word = _go_target(word)
        elif self.tool == "bazel" and word.endswith("..."):
            word = word[:-3].rstrip("/:")
        elif self.tool in programs.NAMED_TARGETS:
            word = SELECTION + word
        elif self.tool == "unittest" and "/" not in word:
            word = word[:-3] if word.endswith(".py") else word.replace(".", "/")
        else:
            word = self.path(word)
        if word not in _NO_TARGETS:
            self.items.append(word)

    def path(self, word: str) -> str:
        word = word.replace("\\", "/")
        if word[:2] == "./":
            word = word[2:]
        if word[:1] == "/" and word.startswith(self.cwd + "/"):
            word = word[len(self.cwd) + 1 :]
        return word.rstrip("/")

    def run(self, family: str, label: str, identity: str) -> Run:
        """Return the run that has been read."""
        if "" in self.items:  # `./...`
            self.items = [item for item in self.items if item[1:2] == "="]
        elif self.tool == "go" and all(item[1:2] == "=" for item in self.items):
            self.items.append("./.")
        scope = [UNKNOWN + item if has_variable(item) else item for item in {*self.items}]
        for variant in sorted(self.variants):
            identity += " " + variant
            label += " " + variant
            if has_variable(variant):
                scope.append(UNKNOWN + variant)
        targets = sorted(scope)
        scope = [UNKNOWN + "many"] if len(scope) > _MOST_TARGETS else marked(targets, self.marks)
        for item in self.items[:3]:
            label += " " + (item[2:] if item[1:2] == "=" else item.removesuffix("/."))
        return Run(family, label, identity, scope, self.cwd)


def _is_short(time: str) -> bool:
    time = time.lstrip("0hm")  # 0 is no limit
    number = time[:-1].partition(".")[0]  # in `500ms` with an m at its end
    if time == "s" or time[-1:] != "s" or "h" in number or "m" in number[:-1]:
        return False
    return not (number.isdigit() and number.zfill(3) >= "030")


def _go_target(word: str) -> str:
    """Return a package pattern as a path: `./...` is everything, `./a/...` all below `a`, `./a` only `a` itself."""
    if word[:2] == "./":
        word = word[2:]
    if word == "...":
        return ""
    if word.endswith("/..."):
        return word[:-4]
    return "./." if word in (".", "") else word.rstrip("/") + "/."


def _script(program: str, words: list[str], cwd: str, outer: Sequence[str]) -> Run | None:
    """Return a script of package.json; npm, yarn, pnpm and bun run the same script the same way."""
    limits = Limits("script", cwd, outer)
    at = next_name(words, 1, limits)
    name = word_at(words, at)
    if not _ASKS.isdisjoint(words[1 : at + 2]):
        return None
    if name == "workspace" and program == "yarn":
        limits.items.append(PACKAGE + word_at(words, at + 1))
        at = next_name(words, at + 2, limits)
        name = word_at(words, at)
    is_explicit = name in ("run", "run-script", *_EACH)
    while name in ("run", "run-script", *_EACH):
        if name in _EACH:
            limits.items.append(PACKAGE + EVERY)
        at = next_name(words, at + 1, limits)
        name = word_at(words, at)
    if program == "bun" and not is_explicit and name in ("test", "build"):
        return _tool(name, "bun", "bun:" + name, words, at + 1, limits.cwd, limits.outer())
    if name in ("t", "tst") and not is_explicit:
        name = "test"
    if not is_explicit and name != "test":
        if program == "npm" or name in programs.MANAGER_COMMANDS:
            return None
        if (name in programs.TOOLS and name != "build") or (name in programs.SUBCOMMANDS and name != program):
            return run_of(name, words[at:], limits.cwd, limits.outer())
    family = family_of(name)
    if not family or family == "no" or (program == "bun" and "." in name):
        return None
    limits.read(words, at + 1)
    label = f"{program} {name}" if not is_explicit or name == "test" else f"{program} run {name}"
    return limits.run(family, label, "npm:" + name)


def next_name(words: list[str], at: int, limits: Limits) -> int:
    """Return the place of the next word that is no option, which are read on the way."""
    while at < len(words) and words[at][:1] == "-":
        word = words[at]
        at += 1 + limits.option(word, words[at + 1] if at + 1 < len(words) else "")
    return at


def _tasks(program: str, words: list[str], cwd: str, outer: Sequence[str]) -> Run | None:
    """Return the run of some tasks, which are in its key: they are what is run, and their order does not matter."""
    if not _ASKS.isdisjoint(words[1:]):
        return None
    limits = Limits(program, cwd, outer)
    pairs: list[tuple[str, str]] = []  # (the package, or none; the task)
    many = program == "nx" and words[1:2] in (["run-many"], ["affected"])
    listing = ""  # the option behind which words are tasks, or packages
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        name, _, value = word.partition("=")
        if program == "nx" and name in _LISTS:
            listing, word = name, value
        elif word[:1] == "-":
            at += limits.option(word, word_at(words, at))
            listing = word = ""
        if not word:
            continue
        if program == "sbt" and word.startswith(("testOnly ", "testQuick ")):
            limits.items.append(SELECTION + word.partition(" ")[2])
            word = "test"
        if _LISTS.get(listing) or (program == "nx" and pairs and not many and "=" not in word):
            limits.apply("p", "", word)
        elif "=" in word or (many and word == "affected"):
            limits.items.append(SELECTION + word)
        elif not (word in _VERBS and program in _TASK_VERBS) and not (word == "clean" and program in ("gradle", "mvn", "sbt")):
            pairs.append(_split_task(program, word))
    tasks = [*dict.fromkeys([task for _, task in pairs])][:_MOST_TARGETS]
    family = next(filter(None, map(family_of, tasks)), "")
    if program in programs.TASKS_ANY:
        family = "build" if not tasks and program in ("make", "ninja") else "" if family == "no" else family
    elif not family or family == "no":
        return None
    in_all = {task for package, task in pairs if not package}
    pairs = [(package, task) for package, task in pairs if not (package and task in in_all)]
    if any(package for package, _ in pairs):  # each task has its own, or runs in all
        limits.items += [PACKAGE + (f"{package} {task}".strip() if len(tasks) > 1 else package) for package, task in pairs]
    identity = program + "".join([":" + task for task in sorted(tasks)])
    return limits.run(family, " ".join([program, *tasks[:3]]), identity)


def _split_task(program: str, task: str) -> tuple[str, str]:
    package, colon, name = task.rpartition(":") if program == "gradle" else task.partition(":")
    return (package or ":", name) if colon and program in ("gradle", "nx") else ("", task)


def families(row: str) -> dict[str, str]:
    """Return the family of each subcommand in a row such as `test=test,t build=build`."""
    groups = [group.partition("=") for group in row.split()]
    return {name: family for family, _, names in groups for name in names.split(",")}


def _subcommand(program: str, words: list[str], cwd: str, outer: Sequence[str]) -> Run | None:
    limits = Limits(program, cwd, outer)
    at = next_name(words, 1, limits)
    known = families(programs.SUBCOMMANDS[program])
    if program == "cargo" and at < len(words) and words[at][:1] == "+":
        limits.marks.append(OTHERWISE + words[at])
        at = next_name(words, at + 1, limits)
    if program == "node" or program == "xcodebuild":
        at = next((place for place, word in enumerate(words) if word in known), len(words))
        limits = Limits(program, cwd, outer)
        words = words[at : at + 1] + words[1:at] + words[at + 1 :]
        at = 0
    name = word_at(words, at)
    family = known.get(name)
    if program == "docker" and name in ("buildx", "compose"):
        at = next((place for place, word in enumerate(words) if word == "build"), 0)
        family = family if at else None
        limits.read([word for word in words[1:at] if word not in ("buildx", "compose")], 0)
    if family is None or not _ASKS.isdisjoint(words[at:]):
        return None
    if program == "cargo":
        name = {"t": "test", "b": "build", "c": "check"}.get(name, name)
        if name == "nextest":
            if words[at + 1 : at + 2] not in (["run"], ["r"]):
                return None
            at += 1
    limits.read(words, at + 1)
    identity = f"{program}:{name.lstrip('-')}"
    return limits.run(family, identity.replace(":", " "), identity)
