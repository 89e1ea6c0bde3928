"""What each row of the tables of programs makes of a command line: `--update-goldens` shows what a change of a row does to which lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import random_words, secret_shapes
from popkit_retention.core.policy.commandline import (  # fmt: skip
    bash,
    brackets,
    command,
    environments,
    filters,
    looks,
    lookups,
    printed,
    programs,
    ran,
    reads,
    run_options,
    runs,
    worktree,
    wrappers,
)
from popkit_retention.core.policy.masking import accounts, addresses, dialogues, mask, named, piped, secret_options
from popkit_retention.core.policy.masking import programs as secrets
from popkit_retention.core.policy.masking import words as secret_words

GOLDENS = Path(__file__).with_name("goldens")
WORD = "heron-grey"  # nothing about it looks like a secret


def rows_of(table: programs.Table) -> list[tuple[str, str]]:
    """Each name of a table, with the rest of its row."""
    rows = [row.partition(": ") for row in table.text.strip().split("\n")]
    return [(name, rest) for names, _, rest in rows for name in names.split()]


def names_of(table: programs.Table) -> list[str]:
    return [name for name, _ in rows_of(table)]


def looked_at() -> list[str]:
    """The names of looks, which have blanks."""
    return [row.partition(": ")[0] for row in run_options.LOOKS.text.strip().split("\n")]


def beginnings_of_keys() -> Iterator[tuple[str, str]]:
    """(the mark that it is under, the beginning)"""
    tables = (secret_shapes._SURE, secret_shapes._DOUBTFUL)
    return ((mark, name) for table in tables for mark, names in table.items() for name in names.split())


def test_a_beginning_of_a_key_is_under_the_first_mark_that_it_has():
    for mark, name in beginnings_of_keys():
        assert mark == next((other for other in secret_shapes._SURE if other in name), None), name
    assert list(secret_shapes._SURE) == list(secret_shapes._DOUBTFUL)


def options_with_a_secret() -> Iterator[str]:
    for names, options in secrets.OPTIONS:
        for name in names.split():
            for option in options.split():
                bare = option.rstrip("*?")
                if option[-1] != "*":
                    yield f"{name} {bare} {WORD} more"
                yield f"{name} {bare}{'' if option[-1] in '*?' else '='}{WORD} more"
    for words, options in (*secrets.PAIRS, ("unknown", secrets.EVERYWHERE)):
        yield from (f"{words} {option} {WORD} more" for option in options.split())


def phrases_with_a_secret() -> Iterator[str]:
    for phrase in secrets.PHRASES:
        words = phrase.split()
        for number in range(max(word.count("|") for word in words) + 1):
            chosen = [word.split("|")[min(number, word.count("|"))].replace("*", "my") for word in words]
            values = {"X": WORD, "=": f"NAME={WORD}", ".": "name", "..": "some name"}
            yield " ".join(values.get(word.lstrip("+") if word != "+" else word, word) for word in chosen)
    yield from (f"cat {WORD} > my{name}" for name in secrets.SECRET_FILES)
    yield from (f"echo {WORD} > my{name}" for name in secrets.SECRET_FILES)
    for name, at in ((name, at) for at, names in secrets.FUNCTIONS.items() for name in names):
        texts = ["'a'"] * (at - 1) + [f"'{WORD}'"] if at > 0 else ["'a'", f"'{WORD}'"]
        yield f'python -c "x.{name.strip(".")}({", ".join(texts)})"'
    yield from (f"echo {WORD} | {name}" for name in sorted(secrets.RECEIVERS))
    yield from (f"{name} {WORD} | passwd" for name in sorted(secrets.WRITERS))


RANDOM = "x7Kq2Lp9Vb4Nz8Rt"  # looks drawn by chance


def names_of_a_secret() -> Iterator[str]:
    yield from (f"export MY_{name.upper()}={WORD}" for name in named._WORDS)
    yield from (f"tool --my-{name} {WORD}" for name in named._WORDS)
    yield from (f"tool --secret-{end.strip('_')}={WORD}" for end in (*named._HARMLESS_ENDS, *named._OFTEN_HARMLESS))
    yield from (f"tool --my-{end} {RANDOM}" for end in named._OFTEN_HARMLESS)
    yield from (f"tool --token={value}" for value in sorted(named._HARMLESS))
    yield from (f"tool --token={value}abc" for value in named._EXPRESSIONS)
    yield from (f"rails g model user reset_token:{value}:uniq" for value in sorted(named._TYPES))
    yield from (f"npm run secret:{value}" for value in sorted(named._ACTIONS))
    yield from (f"export {name}KEY={WORD}" for name in named._PUBLIC)
    yield from (f"tool set {word} api_key {WORD}" for word in sorted(named._SETTERS))
    ending = {
        end: next(name for name in ("password", "passwd", "passphrase", "mnemonic") if name.endswith(end)) for end in named._PHRASE_ENDS
    }
    yield from (f"say 'the {name}: {WORD} is set'" for name in ending.values())
    yield from (f"'{end}: expected it'" for end in named._TOKEN_ENDS)
    yield from (f"curl x?{mark[1:]}{WORD}" for marks, _ in named._FORMS for mark in marks if mark[0] in "?&")
    yield from (f"curl -H 'x-my-{mark} {WORD}'" for marks, _ in named._FORMS for mark in marks if mark[-1] == ":")
    yield from (f"curl -H '{scheme} {RANDOM}'" for scheme in named._SCHEMES.split("|"))


def places_of_a_secret() -> Iterator[str]:
    yield from (f"flask {verb}-{account} bob {WORD}" for verb in sorted(accounts._VERBS) for account in ("user", "table"))
    yield from (f"flask create-{name} bob {WORD}" for name in sorted(accounts._OBJECTS | accounts._GROUPS))
    yield from (f"tool {name} bob {WORD}" for name in sorted(accounts._COMPOUNDS | accounts._ENTERING))
    yield from (f"tool {name} create bob {WORD}" for name in sorted(accounts._GROUPS))
    yield from (f"tool create-{name}-user bob {WORD}" for name in sorted(accounts._BESIDE))
    yield from (f"node create-user.{ending} bob {WORD}" for ending in sorted(accounts._SCRIPTS))
    yield from (f"{name} create-user bob {WORD}" for name in sorted(accounts.READERS))
    yield from (f"{name} cat create-user bob {WORD}" for name in sorted(accounts._WRAPPERS))
    yield from (f"tool create-user {option} bob {WORD}" for option in sorted(accounts._FLAGS | accounts._ASKING))
    yield from (f"tool create-user {name} bob {WORD}" for name in sorted(accounts._SENTENCE))
    yield from (f"tool set-{name}-password {WORD}" for name in sorted(accounts._OWNERS))
    yield from (f"curl https://host.invalid{name}{'' if name[-1] == '/' else '/'}{RANDOM}" for name in addresses._OPEN)
    yield from (f"curl https://host.invalid/me{name}{RANDOM}" for name in addresses._COMMIT)
    yield from (f"curl {name}T1/{WORD.upper()}" for name in addresses._WEBHOOKS)
    yield from (f"git clone https://{WORD}:{name}host.invalid/x" for name in addresses._OF_TOKEN)
    yield from (f"curl -K - <<< '{name} = \"bob:{WORD}\"'" for name in dialogues._USERS)
    yield from (f'expect -c \'expect "P{name}:"; send "{WORD}{end}"\'' for name in dialogues._PROMPTS for end in dialogues._ENDS)
    yield from (f"echo {WORD} | tool-{name}" for name in sorted(piped._RECEIVING))
    yield from (f"{name} <(echo {WORD})" for name in sorted(piped._SHOWING))
    yield from (f"tool {option}={WORD}9" for option in secret_options._SHORT)
    yield from (f"mysql --password={name}abc" for name in secret_options._ELSEWHERE)
    yield from (f"{name} {RANDOM}" for name in sorted(secret_words._SECRET_WORDS))
    yield from (f"{name} is abc123def" for name in sorted(secret_words._PASSWORDS))
    yield from (f"{RANDOM} key {name}" for name in sorted(secret_words._REFUSING))
    yield from (f"npm i a@{name}:b@c.invalid" for name in sorted(secret_words._PROTOCOLS))
    yield from (f"{name} x password '{WORD}'" for name in sorted(secret_words._SQL))
    yield from (f"{name} bob/{WORD}@host" for name in sorted(secret_words._ORACLE))
    yield from (f"use {name}{RANDOM}" for name in random_words._PUBLIC)
    yield from (f"use {name}{RANDOM}{RANDOM}" for _, name in beginnings_of_keys())
    yield from (f"use abcdefghijk{inside}{RANDOM}{RANDOM}" for inside, _, _ in secret_shapes._INSIDE)
    yield from (f"-----BEGIN {name}-----\\nabc\\n-----END {name}-----" for name in secret_shapes._SECRET_BLOCKS)


@pytest.mark.parametrize(
    "lines", [options_with_a_secret, phrases_with_a_secret, names_of_a_secret, places_of_a_secret], ids=lambda lines: lines.__name__
)
def test_a_secret_is_masked_where_a_program_takes_one(golden, lines) -> None:
    golden(GOLDENS / f"{lines.__name__}.txt", "".join(f"{mask(line)}\n" for line in dict.fromkeys(lines())))


def kinds_of_programs() -> Iterator[str]:
    yield from (
        f"{name} a b"
        for name in (*names_of(programs.KINDS), *names_of(programs.ALIASES), *names_of(programs.TOOLS), *sorted(programs.SHELLS))
    )
    yield from (f"git {word} a" for word in (*names_of(programs.GIT_KINDS), *sorted(programs.GIT_READS)))
    yield from (f"git {option} b status" for option in sorted(programs.GIT_VALUES))
    yield from (f"{name} {word}" for name, row in rows_of(programs.SUBCOMMANDS) for word in (*runs.families(row), "other"))
    yield from (f"{name} {word}" for name, words in rows_of(programs.ONLY_WITH) for word in (*words.split(), "a"))
    yield from (f"npm run {word}" for word in (*names_of(programs.WORD_FAMILIES), *sorted(programs.NO_RUN)))
    yield from (f"{name} {word}" for name in sorted(programs.TASKS) for word in ("test", "thing"))
    yield from (f"{name} {word}" for name in sorted(programs.SCRIPT_RUNNERS) for word in ("test", "lint"))
    yield from (f"yarn {word}" for word in sorted(programs.MANAGER_COMMANDS))
    yield from (f"pytest {word} a" for word in sorted(programs.ADMINISTRATION))
    yield from (f"{words} a" for words in sorted(programs.OWN_WORDS))
    yield from (f"{name} test a" for name in sorted(programs.NAMED_TARGETS | programs.GO_PATTERNS))


def wrapped_runs() -> Iterator[str]:
    for name, row in rows_of(programs.PREFIXES):
        own, *options = row.split()
        yield from (f"{name} {option}{' own' * int(own)} pytest a.py" for option in ("", *(f"{option} b.py" for option in options)))
    for name, row in rows_of(programs.PREFIX_SUBCOMMANDS):
        own, subcommands, *options = row.split()
        for subcommand in subcommands.split(","):
            yield from (
                f"{name} {subcommand} {option}{' own' * int(own)} pytest a.py" for option in ("", *(f"{option} b.py" for option in options))
            )
    yield from (f"{name} -m pytest a.py" for name in sorted(programs.INTERPRETERS))
    yield from (f"python {option} b.py -m pytest a.py" for option in sorted(wrappers._PYTHON_VALUES))
    variables = (*(name.rstrip("=") for name in programs.VARIANT_VARIABLES), *programs.NEUTRAL_VARIABLES, *programs.TELLING_VARIABLES)
    yield from (f"{name}=1 pytest a.py" for name in sorted(variables))
    yield from (f"{name} x && pytest a.py" for name in (*sorted(programs.ENVIRONMENT), *programs.SWITCHES))


def options_of_runs() -> Iterator[str]:
    tools = (*names_of(run_options._OPTIONS), *names_of(run_options._SAME), *looked_at())
    for tool in tools:
        command = " ".join([tool, *list(runs.families(programs.SUBCOMMANDS.get(tool, "")))[:1]])
        for option, letter in run_options.letters_of(tool).items():
            yield f"{command} {option}{' 3' if letter.isupper() or letter in 'vkpd' else ''}"
    yield from (f"{name}{end}" for name in run_options.WITHOUT_NUMBER for end in ("", " a"))
    yield from (
        f"{name} {option} b {words.partition(' ')[2]}"
        for name, options in rows_of(run_options.BEFORE_COMMAND)
        for option in options.split()
        for words in looked_at()
        if words.startswith(name + " ")
    )


def options_of_looks() -> Iterator[str]:
    tables = (lookups._LONG_MARKS, lookups._SHOWN_LESS, lookups._NUMBERED_LESS, lookups._SHOWN_MORE, lookups._AROUND)
    sets = (lookups._LONG_VALUES, lookups._GLOBS, lookups._EXCLUDES, lookups._NEUTRAL, lookups._UNIGNORED, *map(names_of, tables))
    yield from (f"rg {option} 3 foo src" for option in sorted({option for options in sets for option in options}))
    for program, letters in (("grep", lookups._GREP), ("rg", lookups._RIPGREP), ("ag", lookups._AG)):
        yield from (f"{program} -{letter} 3 foo src" for letter in sorted("".join(letters)))
    yield from (f"{program} foo src" for program in sorted({*lookups._SHORT, *lookups._RESPECT_IGNORED}))
    yield from (f"find a -type f {test} b -maxdepth 2" for test in (*sorted(lookups._DISJUNCTIVE - {"(", ")"}), *lookups._TESTS_OF_PATHS))
    yield from (f"find a -not {test} b -maxdepth 2" for test in lookups._TESTS_OF_PATHS)
    yield from (f"ls -{letter} a" for letter in (*names_of(lookups._LS_MORE), *sorted(lookups._LS_NEUTRAL)))
    yield from (f"eza {option} a" for option in (*names_of(lookups._LS_LONG), *sorted(lookups._LS_LONG_NEUTRAL)))
    yield from (f"fd {option} 3 foo src" for option in sorted(lookups._FD_VALUES))
    yield from (f"tree {option} 3 src" for option in sorted(lookups._TREE_VALUES))
    yield from (f"bat {option} 3 a.py" for option in sorted(reads._BAT_VALUES))
    yield from (f"git show {option} main:a.py" for option in sorted(reads._SHOWN_ALIKE))
    yield from (f"{name} -5 a.py" for name in reads._READERS)
    yield from (
        f"cat a.py | {name}" for name in (*sorted(filters._PASSES | filters._PASSES_MATCHES), *filters._ENDS, *sorted(filters._PICKS))
    )
    yield from (f"cat a.py | {name}" for name in (*sorted(filters.SHAPES), "other"))
    yield from (f"rg foo src | {name}" for name in (*sorted(filters._PASSES | filters._PASSES_MATCHES), *filters._ENDS))
    yield from (f"rg foo src | grep -{letter} x" for letter in sorted(filters._NO_LINES))
    yield from (f"cat a.py | Select-Object {option} 3" for option in filters._ENDS_IN_WINDOWS)


def words_around_runs() -> Iterator[str]:
    yield from (f"nvm {word} 18 && pytest" for word in sorted(environments._CHANGES))
    yield from (f"source ~/{name.lstrip('/')} && pytest" for name in environments._USUAL)
    yield from (f"npm {word} a b" for word in (*sorted(runs._VERBS), *runs._EACH))
    yield from (f"{name} {word} a b" for name in sorted(runs._TASK_VERBS) for word in sorted(runs._VERBS))
    yield from (f"pytest {option}" for option in sorted(runs._ASKS))
    yield from (f"make {name}" for name in sorted(runs._NO_TARGETS))
    yield from (f"{name} -{letter} 3 test a.py" for name in ("go", "xcodebuild", "pytest") for letter in sorted(runs._TAKE_VALUES))
    yield from (f"gh {word} view 3" for word in looks._BEGIN_COMMANDS)
    yield from (f"{name} pytest a.py" for name in sorted(wrappers._TRANSPARENT | wrappers._PLAIN | wrappers._SHORTENS))
    for name, options in rows_of(wrappers._NEUTRAL):
        row = programs.PREFIX_SUBCOMMANDS.get(name)
        begin = f"{name} {row.split()[1].split(',')[0]}" if row else name
        end = "box pytest a.py" if name == "docker" else "pytest a.py"
        yield from (f"{begin} {option} {end}" for option in sorted(options.split()))
    yield from (f"sudo {option} pytest a.py" for option in sorted(wrappers._QUIET.split()))
    yield from (f"{name} run {option} b cat a.py" for name, options in rows_of(wrappers._FOLDERS) for option in options.split())
    yield from (f"node b/pytest{ending} a.py" for ending in wrappers._EXTENSIONS)
    yield from (f"{folder}pytest a.py" for folder in wrappers._SAME_FOR_ALL)
    yield from (f"{name} x; pytest a.py" for name in sorted(command.KEYWORDS | brackets._OPENING | brackets._CLOSING))
    yield from (f"{name} pytest a.py" for name in sorted(bash._LOOKING | {"git"} | bash._OTHER_TREES))
    yield from (f"cd a && {name} a.py" for name in looks._LIMITED_TO_PATHS)
    yield from (f"{name} a.py | xargs {name}" for name in ("rg x", "find", "cat", "mkdir"))


def moves_of_the_tree() -> Iterator[str]:
    yield from (f"git {word} a" for word in (*worktree._CHANGES, *worktree._ALIASES, *sorted(worktree._OF_HEAD)))
    yield from (f"git apply {option} a.patch" for option in sorted(worktree._NO_FILES))
    yield from (f"git reset {option} main" for option in sorted(worktree._OF_FILES))
    yield from (f"git {' '.join(command)}" for command in worktree._LOOKING)
    yield from (f"git diff {revision}" for revision in sorted(worktree._REVISIONS))


NAMES = st.lists(st.text("ab-.", min_size=1, max_size=3), min_size=1, max_size=4)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["a", "b a", "-a=b,a"])), max_size=5))
def test_a_table_gives_each_of_its_names_the_first_row_that_has_it(rows: list[tuple[list[str], str]]):
    table = programs.Table("\n" + "".join(f"{' '.join(names)}: {rest}\n" for names, rest in rows))
    first: dict[str, str] = {}
    for names, rest in rows:
        for name in (*names, " ".join(names)):
            first.setdefault(name, rest)
    for name in (*first, "", "a", "aa", " ", "a a", "\n", ":"):
        assert (table.get(name, "none"), name in table) == (first.get(name, "none"), name in first)


@pytest.mark.parametrize(
    "lines",
    [kinds_of_programs, wrapped_runs, options_of_runs, options_of_looks, words_around_runs, moves_of_the_tree],
    ids=lambda lines: lines.__name__,
)
def test_a_line_is_read_as_its_program_says(golden, lines) -> None:
    rows = [f"{line} => {'; '.join(map(_told, bash.actions(line, '/p')))}\n" for line in dict.fromkeys(lines())]
    golden(GOLDENS / f"{lines.__name__}.txt", "".join(rows))


def _told(action: bash.Action) -> str:
    key, scope = action.part
    told = [action.family or action.kind, key, *map(str, scope)]
    return " ".join([*told, *(f"{name}={value}" for name in ("changes", "move") if (value := getattr(action, name)))])


def printed_lines() -> Iterator[str]:
    yield from (f"{name} a" for name in sorted(printed._SILENT | printed._ONE_LINE | printed._SAY))
    yield from (f"cat a.py | {name}" for name in sorted(printed._CUTTING | printed._PICKING))
    yield from (f"printf 'a\\{escaped}b\\n'" for escaped in printed._ESCAPED)
    yield from (
        f"{name} a b || cat c.py" for name in sorted(ran._MAY_FAIL | ran._ASIDE_MAY_FAIL | {*ran._LEAVES, *ran._GIVES_UP, *ran._SAYS})
    )
    yield from (f"{name} -{letter} a && cat c.py" for name, letter in ran._FORCED.items())
    yield from (f"cat a.py > {name}; cat b.py" for name in command.DISCARDING)
    yield from (f"cat a.py | {' '.join(command)} x && cat b.py" for command in ran._PICKING)


def test_what_a_command_prints_is_known_before_it_runs(golden) -> None:
    def told(line: str) -> str:
        steps = (" ".join([step.kind, str(step.most), repr(step.text)[: None if step.text else 0]]).strip() for step in printed.steps(line))
        return f"{line} => {'; '.join(steps)} | {'; '.join(f'{action.kind} {action.ran}' for action in bash.actions(line, '/p'))}"

    golden(GOLDENS / "printed_lines.txt", "".join(f"{told(line)}\n" for line in dict.fromkeys(printed_lines())))
