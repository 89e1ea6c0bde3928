"""What each row of the tables of programs makes of a command line: `--update-goldens` shows what a change of a row does to which lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.policy.commandline import bash, programs, run_options
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.policy.masking import programs as secrets

GOLDENS = Path(__file__).with_name("goldens")
WORD = "heron-grey"  # nothing about it looks like a secret


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


@pytest.mark.parametrize("lines", [options_with_a_secret, phrases_with_a_secret], ids=lambda lines: lines.__name__)
def test_a_secret_is_masked_where_a_program_takes_one(golden, lines) -> None:
    golden(GOLDENS / f"{lines.__name__}.txt", "".join(f"{mask(line)}\n" for line in dict.fromkeys(lines())))


def kinds_of_programs() -> Iterator[str]:
    yield from (f"{name} a b" for name in (*programs.KINDS, *programs.ALIASES, *programs.TOOLS, *sorted(programs.SHELLS)))
    yield from (f"git {word} a" for word in (*programs.GIT_KINDS, *sorted(programs.GIT_READS)))
    yield from (f"git {option} b status" for option in sorted(programs.GIT_VALUES))
    yield from (f"{name} {word}" for name, words in programs.SUBCOMMANDS.items() for word in (*words, "other"))
    yield from (f"{name} {word}" for name, words in programs.ONLY_WITH.items() for word in (*words, "a"))
    yield from (f"npm run {word}" for word in (*programs.WORD_FAMILIES, *sorted(programs.NO_RUN)))
    yield from (f"{name} {word}" for name in sorted(programs.TASKS) for word in ("test", "thing"))
    yield from (f"{name} {word}" for name in sorted(programs.SCRIPT_RUNNERS) for word in ("test", "lint"))
    yield from (f"yarn {word}" for word in sorted(programs.MANAGER_COMMANDS))
    yield from (f"pytest {word} a" for word in sorted(programs.ADMINISTRATION))
    yield from (f"{name} test a" for name in sorted(programs.NAMED_TARGETS | programs.GO_PATTERNS))


def wrapped_runs() -> Iterator[str]:
    for name, (options, own) in programs.PREFIXES.items():
        yield from (f"{name} {option}{' own' * own} pytest a.py" for option in ("", *(f"{option} b.py" for option in options.split())))
    for name, (subcommands, options, own) in programs.PREFIX_SUBCOMMANDS.items():
        for subcommand in subcommands.split():
            yield from (
                f"{name} {subcommand} {option}{' own' * own} pytest a.py"
                for option in ("", *(f"{option} b.py" for option in options.split()))
            )
    yield from (f"{name} -m pytest a.py" for name in sorted(programs.INTERPRETERS))
    yield from (f"python {option} b.py -m pytest a.py" for option in sorted(programs.PYTHON_VALUES))
    variables = (*(name.rstrip("=") for name in programs.VARIANT_VARIABLES), *programs.NEUTRAL_VARIABLES, *programs.TELLING_VARIABLES)
    yield from (f"{name}=1 pytest a.py" for name in sorted(variables))
    yield from (f"{name} x && pytest a.py" for name in (*sorted(programs.ENVIRONMENT), *programs.SWITCHES))


def options_of_runs() -> Iterator[str]:
    tools = (*run_options._OPTIONS, *run_options._SAME, *run_options.LOOKS)
    for tool in tools:
        command = " ".join([tool, *list(programs.SUBCOMMANDS.get(tool, ()))[:1]])
        for option, letter in run_options.letters_of(tool).items():
            yield f"{command} {option}{' 3' if letter.isupper() or letter in 'vkpd' else ''}"
    yield from (
        f"{name} {option} b {words.partition(' ')[2]}"
        for name, options in run_options.BEFORE_COMMAND.items()
        for option in options
        for words in run_options.LOOKS
        if words.startswith(name + " ")
    )


@pytest.mark.parametrize("lines", [kinds_of_programs, wrapped_runs, options_of_runs], ids=lambda lines: lines.__name__)
def test_a_line_is_read_as_its_program_says(golden, lines) -> None:
    rows = [f"{line} => {'; '.join(map(_told, bash.actions(line, '/p')))}\n" for line in dict.fromkeys(lines())]
    golden(GOLDENS / f"{lines.__name__}.txt", "".join(rows))


def _told(action: bash.Action) -> str:
    key, scope = action.part
    return " ".join([action.family or action.kind, key, *map(str, scope)])
