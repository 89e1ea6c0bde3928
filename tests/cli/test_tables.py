"""The one table of operations and its parser: what is written as help says is understood, all else is answered with what is right; and a
shell completes commands, words, flags and choices as the tables have them."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.cli import shell_setup, terminal
from popkit_retention.cli.commands import every, first, names, tables, titles
from popkit_retention.cli.completion_command import SCRIPTS, words_after
from popkit_retention.cli.main import main
from popkit_retention.cli.setup_table import SETUP
from popkit_retention.core import text
from popkit_retention.core.argument_types import AGE, WHEN, Type, choices, whole
from popkit_retention.core.flag_parser import UsageError, Words, parse
from popkit_retention.core.operation_tables import HELP, Flag, Operation, Table
from popkit_retention.core.operations import offers
from popkit_retention.core.operations.help_text import help_lines
from popkit_retention.core.text import NARROWEST, laid_out
from popkit_retention.extras import EXTRAS
from popkit_retention.governance.operations import RETENTION
from popkit_retention.governance.policies import DOMAINS
from popkit_retention.memory.items import TIERS
from popkit_retention.memory.operations import MEMORY
from popkit_retention.opencode import configuration
from popkit_retention.pi.configuration import PI
from tests.cli import inside
from tests.patience import HANG_S

TABLES = tables()
OPERATIONS = [(table, operation) for table in TABLES.values() for operation in table.operations]
NAMES = [f"{table.name} {operation.called}".strip() for table, operation in OPERATIONS]
FLAGS = [(table, operation, flag) for table, operation in OPERATIONS for flag in operation.flags]
WORDS = sorted({word for _, operation in OPERATIONS for word in operation.called.split()})
FLAG_NAMES = sorted({flag.name for *_, flag in FLAGS} | {"--json", "--help", "-h", "--", "-", "--json=1", "--most=3", "--ttl=1h"})
LINES = st.lists(
    st.one_of(
        st.sampled_from(WORDS), st.sampled_from(FLAG_NAMES), st.text(max_size=8), st.sampled_from(["3", "30d", "hot,warm", "memory"])
    ),
    max_size=7,
)
WRONG = {"whole": "x", "choice": "nonsense", "choices": ",", "age": "soon", "when": "soon"}


def right(type: Type) -> str:
    """A word of a type."""
    if type.known:
        return type.known[0]
    return {"whole": str(type.low), "age": "30d", "when": "2026-02-21"}.get(type.kind, "word")


def line_of(operation: Operation) -> list[str]:
    """The fewest words that an operation takes, as its usage says."""
    needed = [word for flag in operation.flags if flag.needed for word in (flag.name, right(flag.type))]
    arguments = [right(operation.type)] * operation.least
    return [*operation.called.split(), *arguments, *needed]


def test_every_command_has_a_table_of_its_name() -> None:
    assert [table.name.removeprefix("popkit ") for table in TABLES.values()] == list(every())


@pytest.mark.parametrize(("table", "operation"), OPERATIONS, ids=NAMES)
def test_the_row_of_an_operation_holds_its_function(table: Table, operation: Operation) -> None:
    parsed_elsewhere = operation is HELP or (table.name == "popkit restore" and not operation.name)
    assert parsed_elsewhere or callable(table.function(operation))


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_lists_the_commands_as_json_too(word: str, tmp_path: Path) -> None:
    done = inside.run([word, "--json"], {"POPKIT_HOME": str(tmp_path)}, tmp_path)
    assert json.loads(done.stdout) == titles()
    assert all(titles()[name] == table.title for name, table in TABLES.items() if name not in first())


def test_help_with_another_flag_says_what_it_takes(tmp_path: Path) -> None:
    done = inside.run(["help", "--jsn"], {"POPKIT_HOME": str(tmp_path)}, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "popkit help takes the name of one, --all or --json." in " ".join(done.stderr.split())


def test_words_that_stand_in_a_table_and_elsewhere_are_the_same() -> None:
    """The tables load nothing of what they are about."""
    assert SETUP.operations[0].type.known == (*EXTRAS, configuration.OPENCODE, PI, shell_setup.SHELL)
    assert MEMORY.flags_of(MEMORY.by_name["list"])["--tier"].type.known == TIERS
    assert RETENTION.flags_of(RETENTION.by_name["show"])["--domain"].type.known == DOMAINS


@pytest.mark.parametrize(("table", "operation"), OPERATIONS, ids=NAMES)
def test_what_help_calls_the_usage_is_understood(table: Table, operation: Operation) -> None:
    parsed = parse(line_of(operation), table)
    assert parsed.operation is operation
    assert len(parsed.arguments) == operation.least


@pytest.mark.parametrize(("table", "operation"), OPERATIONS, ids=NAMES)
def test_the_example_of_an_argument_is_a_valid_argument(table: Table, operation: Operation) -> None:
    example = table.examples.get(operation.label.strip("[]…"))
    if example:
        needed = [word for flag in operation.flags if flag.needed for word in (flag.name, right(flag.type))]
        assert parse([*operation.called.split(), *shlex.split(example), *needed], table).arguments


def test_every_example_and_note_is_of_something_that_a_usage_names() -> None:
    for table in TABLES.values():
        named = " ".join([*(operation.usage() for operation in table.operations), *(flag.usage for _, _, flag in FLAGS)])
        assert all(label in named for label in (*table.examples, *table.notes))


@pytest.mark.parametrize(("table", "operation"), OPERATIONS, ids=NAMES)
def test_the_sentence_of_an_operation_fits_in_a_line_and_ends_without_a_dot(table: Table, operation: Operation) -> None:
    texts = [operation.help or table.title, *(flag.help for flag in operation.flags)]
    assert all(each and each[0] not in " A" and each[-1] not in " ." for each in texts)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_in_a_narrow_terminal_help_cuts_no_word_up(table: Table) -> None:
    pages = ["", *(operation.called for operation in table.operations if operation.called)]
    shown = " ".join(line for page in pages for line in laid_out(help_lines(page, table.name, table), NARROWEST)).split()
    texts = [words for operation in table.operations for words in (operation.help, *(flag.explained() for flag in operation.flags))]
    assert {word for words in texts for word in words.split()} <= {*shown, *(word.strip(".").lower() for word in shown)}


@pytest.mark.parametrize(("table", "operation", "flag"), FLAGS, ids=lambda each: getattr(each, "name", ""))
def test_a_flag_takes_what_it_says_in_both_spellings_and_says_what_it_takes(table: Table, operation: Operation, flag: Flag) -> None:
    line = line_of(operation)
    if flag.type is None:
        assert parse([*line, flag.name], table).flags[flag.key] is True
        with pytest.raises(UsageError, match="takes no value"):
            parse([*line, flag.name + "=yes"], table)
        return
    word = right(flag.type)
    assert parse([*line, flag.name, word], table).flags[flag.key] is not None
    apart, joined = parse([*line, flag.name, word], table), parse([*line, f"{flag.name}={word}"], table)
    assert vars_of(apart) == vars_of(joined)
    if flag.type.kind in WRONG:
        with pytest.raises(UsageError) as error:
            parse([*line, flag.name, WRONG[flag.type.kind]], table)
        assert str(error.value).startswith(f"{flag.name} takes {flag.type.expected()}, not ")


def vars_of(parsed: Words) -> tuple[str, list, dict]:
    """What was understood, as it compares."""
    return parsed.word, parsed.arguments, {key: getattr(value, "word", value) for key, value in parsed.flags.items()}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_whether_a_word_follows_a_flag_does_not_depend_on_the_operation(table: Table) -> None:
    """It has to be known before the operation is."""
    flags = [flag for operation in table.operations for flag in (*operation.flags, *table.common)]
    assert all(len({bool(flag.type) for flag in flags if flag.name == name}) == 1 for name in {flag.name for flag in flags})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--sesion x", 'unknown flag "--sesion" (did you mean --session?)'),
        ("--foo x why", 'unknown flag "--foo"'),
        ("--help x", 'unknown word "x"'),
        ("foo --sesion x", 'unknown word "foo"'),
    ],
)
def test_a_misspelt_flag_is_named_not_its_value(line: str, says: str) -> None:
    assert str(answer_to("context", line.split(), True)).startswith(says)


@given(st.sampled_from(sorted(TABLES)), LINES, st.booleans())
def test_any_line_of_words_parses_or_is_answered_with_a_correction(name: str, words: list[str], shell: bool) -> None:
    answer = answer_to(name, words, shell)
    if isinstance(answer, UsageError):
        assert any(word in str(answer) for word in ("Known", "knows", "takes", "needs", "works only in a shell"))
    else:
        assert answer.operation in (*TABLES[name].operations, HELP)


def answer_to(name: str, words: list[str], shell: bool) -> Words | UsageError:
    try:
        return parse(words, TABLES[name], shell)
    except UsageError as error:
        return error


@given(st.integers(-5, 2_000), st.integers(1, 50), st.integers(51, 1_000))
def test_a_whole_number_comes_back_where_it_is_within_its_bounds(number: int, low: int, high: int) -> None:
    type = whole(low, high)
    if low <= number <= high:
        assert type.read(str(number)) == number
    else:
        with pytest.raises(ValueError, match=str(number)):
            type.read(str(number))


@given(st.lists(st.sampled_from(TIERS), min_size=1, max_size=6), st.booleans())
def test_several_words_come_back_as_they_are_known(words: list[str], lower: bool) -> None:
    written = " , ".join(words)
    assert choices(*TIERS).read(written.lower() if lower else written) == tuple(words)


@given(st.integers(0, 10**8), st.sampled_from("smhdw"), st.floats(1e9, 2e9))
def test_a_duration_is_as_far_ago_as_it_is_ahead(count: int, unit: str, now: float) -> None:
    moment = AGE.read(f"{count}{unit}")
    assert moment.ahead(now) - now == pytest.approx(moment.age, rel=1e-6)
    assert moment.ago(now) == max(0.0, now - moment.age)


def test_a_date_is_the_same_moment_from_anywhere() -> None:
    for word in ("2026-02-21T16:15", "2026-02-21T16:15Z", "2026-02-21T17:15+01:00"):
        moment = WHEN.read(word)
        assert moment.ago(5.0) == moment.ahead(9e9) == 1_771_690_500.0


@pytest.mark.parametrize("line", ["retention hold", "retention hold --all", "retention hold list --all", "retention --json hold"])
def test_the_last_word_of_a_name_may_be_left_out_where_it_is_implied(line: str) -> None:
    name, *words = line.split()
    assert parse(words, TABLES[name]).word == "hold list"


@pytest.mark.parametrize("line", ["a --words", "--words a"])
def test_a_flag_that_is_an_operation_may_stand_anywhere(line: str) -> None:
    parsed = parse(line.split(), TABLES["completion"])
    assert (parsed.word, parsed.argument) == ("--words", "a")


@pytest.mark.parametrize("line", ["memory admin verify --json", "memory admin --json verify", "memory --json admin verify"])
def test_flags_may_stand_between_the_words_of_a_name(line: str) -> None:
    parsed = parse(line.split()[1:], MEMORY)
    assert (parsed.word, parsed.flags, parsed.former) == ("verify", {"json": True}, "")


def test_a_flag_of_many_takes_every_word_up_to_the_next_flag_and_may_be_repeated() -> None:
    assert parse(["a", "--policy", "x", "y", "--json", "--policy=z"], TABLES["lab"]).policy == ["x", "y", "z"]


def test_a_flag_is_an_attribute_with_what_holds_without_it() -> None:
    parsed = parse(["list"], TABLES["restore"])
    assert (parsed.limit, parsed.since, parsed.json, parsed.argument) == (50, None, False, None)
    with pytest.raises(AttributeError):
        parsed.nonsense  # noqa: B018  what is tested is that it is none


BUTTONS = "clear, clear --now, undo, pin T1, unpin T1, restore T1 --in-place, auto on, auto off"


@pytest.mark.parametrize("id", BUTTONS.split(", "))
def test_a_button_runs_an_operation_that_is_offered_on_buttons(id: str) -> None:
    assert parse(id.split(), TABLES["context"], shell=False).operation.offered


def test_what_the_pane_takes_are_these_operations_and_two_of_its_own() -> None:
    assert set(offers.WORDS) == {"clear", "undo", "pin", "unpin", "restore", "auto", "show", "bill"}


# --- completion --------------------------------------------------------------------------------------------------------------------------


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("", {*names(), "help"}),
        ("memory", {"status", "list", "admin", "help", "--project", "--json"}),
        ("memory admin", {"search", "pin", "join"}),
        ("memory admin search", {"--most", "--json"}),
        ("help memory admin", {"search", "pin", "join"}),
        ("context memory admin", {"search", "pin", "join"}),
        ("retention admin", {"archive", "archives", "log"}),
        ("memory list", {"--tier", "--kind", "--json"}),
        ("memory list --tier", {"hot", "warm", "cold", "archive"}),
        ("context memory list --tier", {"hot"}),
        ("retention hold", {"add", "list", "release"}),
        ("retention hold add", {"--why", "--until", "--domain"}),
        ("context auto", {"on", "off", "show"}),
        ("auto", {"on", "off", "show"}),
        ("clear", {"--tier", "--dry-run", "--session"}),
        ("lab", {"replay", "--policy"}),
        ("lab replay", {"--out", "--shape"}),
        ("bill", {"misses", "limits", "hide"}),
        ("restore", {"stats", "list", "prune", "--in-place"}),
        ("restore list", {"--limit", "--since"}),
        ("setup", {"dashboard", "neo4j"}),
        ("help", set(names())),
        ("help retention", {"show", "gc", "admin"}),
    ],
)
def test_completion_offers_the_words_that_may_come_next(line: str, some: set[str]) -> None:
    assert some <= set(words_after(line.split()))


@pytest.mark.parametrize("line", ["nonsense", "memory nonsense", "context --transcript", "try --json x --json nonsense --", "lab --html"])
def test_where_anything_may_come_the_shell_is_left_to_complete_files(line: str) -> None:
    assert not {"status", "list", "hot"} & set(words_after(line.split()))


def test_what_was_given_is_not_offered_again_unless_it_may_be_repeated() -> None:
    assert "--json" not in words_after(["memory", "list", "--json"])
    assert "list" not in words_after(["memory", "list", "--json"])
    assert "--policy" in words_after(["lab", "--policy", "auto", "--json"])


@given(st.lists(st.sampled_from([*names(), "list", "admin", "hold", "--tier", "--json", "--", "-", "x", ""]), max_size=5))
def test_nothing_that_was_typed_makes_it_fail_and_each_word_is_offered_once(words: list[str]) -> None:
    offered = words_after(words)
    assert len(offered) == len(set(offered))


@pytest.mark.parametrize("name", TABLES)
def test_a_word_that_is_offered_is_known(name: str) -> None:
    groups = {operation.called.split()[0] for operation in TABLES[name].operations if " " in operation.called}
    for word in {*words_after([name])} - groups:
        message = ""
        try:
            parse([word], TABLES[name])
        except UsageError as error:
            message = str(error)
        assert "unknown" not in message


def test_the_script_is_printed_and_a_shell_that_has_none_is_named() -> None:
    for shell, script in SCRIPTS.items():
        assert inside.run(["completion", shell], {}, ROOT).stdout == script + "\n"
    refused = inside.run(["completion", "tcsh"], {}, ROOT)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'completion takes bash, zsh or fish, not "tcsh"' in refused.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["popkit", "mem"], ["memory"]),
        (["popkit", "memory", "list", "--t"], ["--tier"]),
        (["popkit", "memory", "list", "--tier", "w"], ["warm"]),
        (["popkit", "retention", "hold", ""], ["add", "list", "release", "--domain", "--all", "--json", "--help"]),
        (["popkit", "try", "README"], []),
    ],
)
def test_a_real_bash_completes(typed: list[str], completed: list[str], tmp_path: Path) -> None:
    words = " ".join(f"'{word}'" for word in typed)
    script = (
        f'eval "$(popkit completion bash)"; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _popkit; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = bash(script, tmp_path)
    assert done.stdout.split() == completed, done.stderr


def test_where_no_word_fits_a_real_bash_completes_files(tmp_path: Path) -> None:
    done = bash('eval "$(popkit completion bash)"; complete -p popkit', tmp_path)
    assert done.stdout == "complete -o default -F _popkit popkit\n"


def bash(script: str, home: Path) -> subprocess.CompletedProcess:
    env = {"PATH": f"{ROOT / 'bin'}{os.pathsep}{os.environ['PATH']}", "POPKIT_HOME": str(home)}
    return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_another_shell_is_one_that_it_can_read(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "completion"
    path.write_text(SCRIPTS[shell])
    assert subprocess.run([program, "-n", str(path)], check=False, timeout=HANG_S).returncode == 0


def test_the_rule_below_a_heading_is_as_long_as_the_command_was_called() -> None:
    printed = io.StringIO()
    terminal.write_view(text.title("popkit lab"), printed, {terminal.CALLED: "../bin/popkit"})
    assert printed.getvalue().splitlines() == ["../bin/popkit lab", "-" * 17]


CALLED = {terminal.CALLED: "../bin/popkit", "PATH": "/nowhere"}


def test_a_command_that_goes_on_in_the_next_line_is_named_as_it_was_called() -> None:
    printed = io.StringIO()
    terminal.write_view(["To set a limit: popkit", "  budget set month_usd=50"], printed, CALLED)
    assert printed.getvalue() == "To set a limit: ../bin/popkit\n  budget set month_usd=50\n"


@pytest.mark.parametrize("line", ["claude mcp add popkit -- {} mcp", """echo 'eval "$({} completion bash)"' >> ~/.bashrc"""])
def test_what_another_program_will_run_is_named_so_that_it_is_found_from_anywhere(monkeypatch, tmp_path, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    terminal.write_view([line.format("popkit")], printed, CALLED)
    assert printed.getvalue() == line.format(f"{tmp_path.parent}/bin/popkit") + "\n"


def test_the_help_of_completion_says_how_to_load_it(capsys: pytest.CaptureFixture) -> None:
    assert main(["completion", "--help"], CALLED) == 0
    shown = capsys.readouterr().out
    assert "completion bash)" in shown
    assert "--words" not in shown


@pytest.mark.parametrize("command", ["bill", "budget", "lab", "restore", "statusline"])
def test_the_columns_of_help_stand_in_line_however_it_was_called(command: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["help", command], CALLED) == 0
    _, _, table = capsys.readouterr().out.partition("  ../bin/popkit")
    meanings = [line for line in table.splitlines()[1:] if line.startswith(" " * 5)]
    assert meanings
    assert all(len(line) - len(line[22:].lstrip()) == 22 for line in meanings if line[4:6] != "--")


def test_names_are_enumerated_as_one_says_them() -> None:
    assert [text.enumerated(words) for words in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]
