"""Find a password that a program of the project takes as a positional argument: after the name of an action on an account and the name of
the account (`flask create-user bob PW`, `node scripts/set-password.js bob PW`, `bin/rails users:create[bob,PW]`). Pure."""

from __future__ import annotations

from .line import AHEAD, QUOTES, Line

_VERBS = frozenset("create add new make register seed set change reset update".split())
_OBJECTS = frozenset("user admin superuser account password passwd member operator staff".split())
# Both in one word, and what makes them one of two words: the group of commands comes first, and may be in the plural.
_COMPOUNDS = frozenset(
    "createuser adduser useradd createsuperuser createadmin addadmin changepassword changepasswd resetpassword setpassword"
    " setpasswd".split()
)
_GROUPS = frozenset((*_OBJECTS, "users", "accounts", "admins", "members"))
# What may stand beside them in a name; with any other word it names something else (`create-user-table`, `test_add_user`).
_BESIDE = frozenset(
    "app fos shield sylius security super first initial default root db mysql postgres local dev prod web cli auth api site".split()
)
# Alone, right behind a program.
_ENTERING = frozenset("login register signup signin sign-up sign-in".split())
_SCRIPTS = frozenset("js mjs cjs ts mts cts tsx jsx py rb php sh bash exs ex ps1 pl go exe".split())
# These handle files and texts, so that a name of an action among their words is no call of it; or take no password by its place.
READERS = frozenset(
    "git gh glab hg svn echo printf cat bat less more head tail grep egrep fgrep rg ag ack sed awk jq yq ls tree find fd wc"
    " stat file diff cmp comm paste join sort uniq cut tr vim vi nano emacs code open cp mv rm ln chmod chown touch mkdir cd"
    " test man which type whatis apropos prettier eslint black ruff flake8 mypy pylint tsc pytest jest vitest mocha rspec"
    " phpunit playwright make gmake ninja tox turbo nx tee xargs shellcheck rubocop source while done read mapfile for if"
    " import from def class return scp rsync useradd usermod adduser".split()
)
# What may stand before a program.
_WRAPPERS = frozenset("sudo doas time env exec nohup command npx bunx watch bundle uv poetry pipenv run".split())
# Options that no value follows.
_FLAGS = frozenset(
    "--admin --superuser --super --staff --force --yes --active --verified --confirmed --enabled --noinput --no-input -a -f -y --".split()
)
_ASKING = frozenset(("--help", "-h", "-?"))
# No account is called so: a sentence goes on.
_SENTENCE = frozenset("and or to with for the a an is in on of takes asks then that which not from now can will first".split())
# The first word behind these is the password: whose it is, the name says.
_OWNERS = frozenset(("admin", "root"))
_NAME_CHARS = 60


def after_action(line: Line, number: int) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the words that may be a password behind the action that a word names; [] where it names none."""
    word = line.words[number]
    if len(word) > 2 * _NAME_CHARS or word.isupper():
        return []
    name, bracket, _ = word.partition("[")
    parts = _parts(name)
    if not (_is_action(parts) or _is_of_group(line, number, parts) or word in _ENTERING):
        return []
    if _program(line, number) in READERS or _is_sentence(line, number):
        return []
    if bracket:
        return _in_brackets(line, number)
    plain = _entered(line, number) if word in _ENTERING else _plain(line, number)
    if not plain or line.words[plain[0]].lower() in _SENTENCE:
        return []
    if parts[-1] == "password" and not _OWNERS.isdisjoint(parts):
        return [line.value(other) for other in plain]
    _, colon, password = line.words[plain[0]].partition(":")
    end = line.value(plain[0])[1]
    first = [(end - len(password), end)] if colon and password and password[:2] != "//" else []
    return first + [line.value(other) for other in plain[1:] if not _is_shown(line.words[other])]


def _is_sentence(line: Line, number: int) -> bool:
    """Return whether a word stands where no program's argument does: first and without a folder, or among words that people write."""
    before = line.words[max(line.starts[number], number - AHEAD) : number]
    if not before:
        return "/" not in line.words[number] and "." not in line.words[number]
    return before[0][0].isdigit() or any(word[-1] in ",:" or word in _SENTENCE for word in before)


def _program(line: Line, number: int) -> str:
    """Return the program of the command that a word belongs to, without its folder, in small letters."""
    at = line.starts[number]
    last = min(number, at + AHEAD)
    while at < last and (line.words[at].lower() in _WRAPPERS or "=" in line.words[at] or line.words[at][0] == "-"):
        at += 1
    return line.words[at].rpartition("/")[2].lower()


def _parts(word: str) -> list[str]:
    """Return the words of a name, without its folder and the ending of a script: create, user of `scripts/createUser.ts`."""
    word = word.rpartition("/")[2]
    head, _, ending = word.rpartition(".")
    word = head if head and ending in _SCRIPTS else word
    spaced = "".join(" " + char if char.isupper() and word[at - 1 : at].islower() else char for at, char in enumerate(word[:_NAME_CHARS]))
    return spaced.lower().replace("-", " ").replace("_", " ").replace(":", " ").replace(".", " ").split()


def _is_action(parts: list[str]) -> bool:
    """Return whether the words of a name say that an account or its password is made or changed, and nothing else."""
    if not parts or not all(part in _VERBS or part in _GROUPS or part in _BESIDE or part in _COMPOUNDS for part in parts):
        return False
    if not _COMPOUNDS.isdisjoint(parts):
        return True
    verbs = [at for at, part in enumerate(parts) if part in _VERBS]
    return bool(verbs) and any(part in _OBJECTS or (part in _GROUPS and at < verbs[0]) for at, part in enumerate(parts))


def _is_of_group(line: Line, number: int, parts: list[str]) -> bool:
    """Return whether a word is what a group of commands does: `create` of `users create`, `set-password` of `user set-password`."""
    if len(parts) != 1 or not _VERBS.issuperset(parts) or number - 1 <= line.starts[number]:
        return False
    return line.words[number - 1].lower().rpartition(":")[2] in _GROUPS


def _entered(line: Line, number: int) -> list[int]:
    """Return the numbers of the two words behind `login` or `register`, where these come right behind a program and nothing else does."""
    program = line.words[number - 1].rpartition("/")[2] if line.same(number, number - 1) else ""
    if program != _program(line, number) or not program.islower():
        return []
    return plain if (plain := _plain(line, number)) == [number + 1, number + 2] else []


def _plain(line: Line, number: int) -> list[int]:
    """Return the numbers of the words behind an action that neither are options nor values of them.

    One word between two options is the value of the first, unless that is a flag.
    """
    runs: list[list[int]] = [[]]
    is_behind_option = [False]
    for other in range(number + 1, min(len(line.words), number + AHEAD)):
        word = line.words[other]
        if not line.same(number, other) or not _BETWEEN.issuperset(line.gaps[other]):
            break
        if word in _ASKING:
            return []
        if word[0] == "-" and line.gaps[other][-1:] not in QUOTES:
            runs.append([])
            is_behind_option.append(word not in _FLAGS and "=" not in word)
        elif "=" not in word:
            runs[-1].append(other)
    return [other for run, is_value in zip(runs, is_behind_option) if not (is_value and len(run) == 1) for other in run]


_BETWEEN = frozenset(" \t\\\"'`")


def _is_shown(word: str) -> bool:
    """Return whether a word behind the account's name is no password: an address of mail, or a path."""
    return "." in word.partition("@")[2] or word.startswith(("/", "./", "../", "~", "$"))


def _in_brackets(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the arguments of a task behind the first: `users:create[bob,PW]`."""
    first, *others = line.words[number].rstrip("]").split(",")
    secrets = []
    end = line.begins[number] + len(first)
    for other in others:
        begin, end = end + 1, end + 1 + len(other)
        if not _is_shown(other):
            secrets.append((begin, end))
    return secrets
