"""Secrets of known forms are masked, what is none is left alone, and no text is too strange or too long; and of shapes that somebody
wrote down who had not seen the rules, nearly all are masked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import masking
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.coverage import covers
from popkit_retention.core.policy.masking import MASK, NAMES, mask, programs, words
from popkit_retention.core.policy.ruleset import Ruleset
from tests.examples import examples
from tests.hooks.secret_lines import BY_LOOK, COMMANDS, KNOWN, SECRET


def test_a_secret_of_a_known_form_is_masked_and_its_command_can_still_be_recognised():
    for command in COMMANDS + BY_LOOK:
        masked = mask(command.format(SECRET))
        assert SECRET not in masked, command
        assert MASK in masked, command
        assert masked.split()[0].split("=")[0] == command.format(SECRET).split()[0].split("=")[0]


@pytest.mark.parametrize("token", KNOWN)
def test_a_token_is_known_by_its_own_form(token: str):
    assert mask(f"use {token} now") == f"use {MASK} now"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("TOKEN=abc npm test", "TOKEN=**** npm test"),
        ("TOKEN='a b' npm test", "TOKEN='****' npm test"),
        ("tool --password abc --flag", "tool --password **** --flag"),
        ("https://bob:abc@host/x", "https://bob:****@host/x"),
        ("curl -u bob:abc x", "curl -u bob:**** x"),
        ('{"password": "abc", "user": "bob"}', '{"password": "****", "user": "bob"}'),
        ("Authorization: Bearer abcdefgh1", "Authorization: Bearer ****"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nend", "****\nend"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", "****"),
    ],
)
def test_what_is_left_of_a_text_around_its_secret(text: str, masked: str):
    assert mask(text) == masked


PIECES = [
    *'TOKEN= token: --password -p PASSWORD=\' " \\ \\" {"password": "x" } , ; & && | $( $X ${Y} ) https:// user:pass@'.split(),
    *"@host Bearer abcdefgh1 Authorization: basic dXNlcjpw -u bob:pw --user mysql -phunter sk-abcdefghijk ghp_abcdefgh".split(),
    *"? &sig= key= _KEY= api_key= eyJhbGciOiJI.abc.def set config secret x-api-key: cookie: -----BEGIN PRIVATE KEY-----".split(),
    *("login foo **** :: = : - tokens 12".split()),
    *(" ", "\n", "\t", "\0", "\ud800", "é", "İ"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)


@settings(deadline=None, max_examples=examples(25, 400))
@given(TEXTS)
def test_masking_twice_changes_nothing_more(text: str):
    once = mask(text)
    assert mask(once) == once


@settings(deadline=None, max_examples=examples(25, 200))
@given(st.text(st.characters(), max_size=60) | TEXTS)
def test_masking_never_fails_and_lengthens_no_text_much(text: str):
    assert len(mask(text)) <= 4 * len(text) + len(MASK)


@settings(deadline=None, max_examples=examples(25, 200))
@given(st.text("abcXYZ019_+.", min_size=12, max_size=40).filter(lambda secret: not secret.startswith(".")), st.sampled_from(COMMANDS))
def test_any_secret_is_masked_in_any_form(secret: str, command: str):
    if secret in command:
        return
    assert secret not in mask(command.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "Error: invalid token kangaroo-Teal-94gr",
        r"net use z: \\srv\share /user:bob kangaroo-Teal-94gr",
        "dotnet user-secrets set 'Smtp:Password' 'kangaroo-Teal-94gr'",
    ],
)
def test_a_password_of_words_and_digits_is_masked_where_the_context_reveals_it(text: str):
    assert "kangaroo" not in mask(text)


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize(
    ("header", "kept"),
    [
        ("X-Api-Key:{}$KEY", "X-Api-Key:{}$KEY"),
        ("X-Api-Key:{}$_KEY", "X-Api-Key:{}$_KEY"),
        ("X-Api-Key:{}${{KEY}}", "X-Api-Key:{}${{KEY}}"),
        ("X-Auth-Token:{}Bearer $(cat ~/.token)", "X-Auth-Token:{}Bearer $(cat ~/.token)"),
        ("Authorization:{}Bearer $TOKEN", "Authorization:{}Bearer $TOKEN"),
        ("Authorization:{}Bearer", "Authorization:{}Bearer"),
        ("Cookie:{}theme=$THEME; sid=heron", "Cookie:{}****"),
        ("Cookie:{}$THEME; sid=heron", "Cookie:{}****"),
        ("Authorization:{}Bearer $A heron", "Authorization:{}Bearer ****"),
    ],
)
def test_a_header_keeps_what_a_variable_says_alone(header: str, kept: str, blank: str):
    assert mask(f'curl -H "{header.format(blank)}" x') == f'curl -H "{kept.format(blank)}" x'


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("DB_PASS=000000000000 ./migrate", "DB_PASS=**** ./migrate"),
        ("connect --pass=493827", "connect --pass=****"),
        ("ffmpeg -pass 1 -i in.mp4", "ffmpeg -pass 1 -i in.mp4"),
        ("# pass 1200", "# pass 1200"),
    ],
)
def test_a_password_of_digits_is_masked_and_a_number_of_tests_is_not(command: str, kept: str):
    assert mask(command) == kept


@pytest.mark.parametrize("begins", ["ses_", "prt_", "msg_", "toolu_"])
def test_what_a_host_names_its_sessions_and_messages_by_is_no_secret(begins: str):
    assert mask(f"{begins}dd57aee1dffeshjm6RZ4d5MFuE") == f"{begins}dd57aee1dffeshjm6RZ4d5MFuE"


@pytest.mark.parametrize("text", ['print(f"{api_key:=^20}")', 'print(f"{token:-20}|")'])
def test_how_a_value_is_laid_out_is_no_secret(text: str):
    assert mask(text) == text


@pytest.mark.parametrize(
    ("word", "is_secret"),
    [
        ("k4j2h7g1t9d3s8a5", False),  # 16 characters of one case: a name that a program made
        ("K4J2H7G1T9D3S8A5", False),
        ("k4j2h7g1t9d3s8a5w6z", False),
        ("k4j2h7g1t9d3s8a5w6zx", True),  # one more, and it is long enough
        ("K4J2h7g1T9d3s8A5", True),  # as short, of both cases
    ],
)
def test_a_word_that_is_short_and_of_one_case_is_no_secret_by_itself(word: str, is_secret: bool):
    assert mask(f"see {word}") == f"see {MASK if is_secret else word}"


# --- shapes that somebody wrote down who had not seen the rules --------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
SECRETS = json.loads((ROOT / "tests" / "data" / "secrets.json").read_text())


def _each_secret(name: str) -> list[dict]:
    entries = json.loads((ROOT / "tests" / "data" / f"{name}.json").read_text())
    return [{**entry, "secret": secret} for entry in entries for secret in entry["secret"]]


# Written down later, and never looked at for the rules; the newest by whom positional passwords had got past.
LATER, NEWEST = _each_secret("secrets-later"), _each_secret("secrets-newest")
# Written down together with the newest, to mend the rules by.
MENDED = _each_secret("secrets-mended")
HARMLESS = json.loads((ROOT / "tests" / "data" / "not-secrets.json").read_text())
# Command lines of as many programs as came to mind, with a secret and without; written down before they were run through the mask.
OF_PROGRAMS = _each_secret("secrets-of-programs")
HARMLESS_OF_PROGRAMS = json.loads((ROOT / "tests" / "data" / "not-secrets-of-programs.json").read_text())
# So many characters of a secret in a row are a part of it.
PART = 8


def _is_masked(entry: dict) -> bool:
    """Whether nothing of the secret is left, not even a part."""
    secret, masked = entry["secret"], mask(entry["text"])
    size = min(PART, len(secret))
    return not any(secret[at : at + size] in masked for at in range(len(secret) - size + 1) if secret[at : at + size].isalnum()) and (
        secret not in masked
    )


def test_of_the_list_at_least_95_in_100_are_masked():
    left = [entry["text"] for entry in SECRETS if not _is_masked(entry)]
    assert len(left) <= 0.05 * len(SECRETS), left


@pytest.mark.parametrize(("entries", "most_left"), [(LATER, 0.05), (NEWEST, 0.08)], ids=["later", "newest"])
def test_of_the_lists_that_no_rule_was_made_from_nearly_all_are_masked(entries: list[dict], most_left: float):
    """With `-s` it prints how many."""
    left = [entry["text"] for entry in entries if not _is_masked(entry)]
    print(f"{len(entries) - len(left)} of {len(entries)} are masked")
    assert len(left) <= most_left * len(entries)


def test_of_the_list_that_the_rules_were_mended_by_all_are_masked():
    assert [entry["text"] for entry in MENDED if not _is_masked(entry)] == []


def test_of_the_list_what_is_no_secret_is_left_alone():
    assert [entry["text"] for entry in HARMLESS if mask(entry["text"]) != entry["text"]] == []


def test_at_most_two_in_a_hundred_command_lines_leak_a_secret_or_lose_a_plain_word():
    """Command lines of many programs."""
    left = [entry["text"] for entry in OF_PROGRAMS if not _is_masked(entry)]
    taken = [entry["text"] for entry in HARMLESS_OF_PROGRAMS if mask(entry["text"]) != entry["text"]]
    print(f"{len(left)} of {len(OF_PROGRAMS)} are shown, {len(taken)} of {len(HARMLESS_OF_PROGRAMS)} lose a word")
    assert len(left) <= 0.02 * len(OF_PROGRAMS), left
    assert len(taken) <= 0.02 * len(HARMLESS_OF_PROGRAMS), taken


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("flask create-user bob hunter", "flask create-user bob ****"),
        ("node scripts/createUser.ts bob bob@acme.io hunter --admin", "node scripts/createUser.ts bob bob@acme.io **** --admin"),
        ("./cli users add --admin bob hunter", "./cli users add --admin bob ****"),
        ("./cli create-user bob --admin hunter", "./cli create-user bob --admin ****"),
        ("bench set-admin-password hunter", "bench set-admin-password ****"),
        ("etcdctl user add bob:hunter", "etcdctl user add bob:****"),
        ("x user add bob:/hunter", "x user add bob:****"),
        ("x user add https://acme.invalid/bob", "x user add https://acme.invalid/bob"),
        ("x create-user https://acme.invalid/bob hunter", "x create-user https://acme.invalid/bob ****"),
        ("rake 'users:create[bob,hunter]'", "rake 'users:create[bob,****]'"),
        ("ssh box 'flask create-user bob hunter'", "ssh box 'flask create-user bob ****'"),
        ("./tool login bob hunter", "./tool login bob ****"),
        ("./cli create-user bob --role editor", "./cli create-user bob --role editor"),
        ("./cli create-user-table bob prod", "./cli create-user-table bob prod"),
        ("git add create-user bob hunter", "git add create-user bob hunter"),
        ("docker login -u bob --password-stdin acme.io", "docker login -u bob --password-stdin acme.io"),
        ("the tool: create-user takes a name and asks", "the tool: create-user takes a name and asks"),
        ("flask create-user bob $PASSWORD", "flask create-user bob $PASSWORD"),
        ("openssl enc -pass file:<(echo hunter) -in a", "openssl enc -pass file:<(echo ****) -in a"),
        ("diff <(echo hunter) a", "diff <(echo hunter) a"),
        ("""sops --set '["a"] "hunter"' a.yaml""", """sops --set '["a"] "****"' a.yaml"""),
        ("""sops -d --extract '["a"]' a.yaml""", """sops -d --extract '["a"]' a.yaml"""),
    ],
)
def test_a_password_is_known_by_its_place_behind_the_name_of_an_action(line: str, masked: str):
    assert mask(line) == masked


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("echo hunter | passwd --stdin bob", "echo **** | passwd --stdin bob"),
        ("echo hunter | cat | passwd --stdin bob", "echo **** | **** | passwd --stdin bob"),
        ("echo well; echo hunter | passwd --stdin bob", "echo well; echo **** | passwd --stdin bob"),
        ("echo hunter; passwd --stdin bob", "echo hunter; passwd --stdin bob"),
        ("echo hunter && passwd --stdin bob", "echo hunter && passwd --stdin bob"),
        ("echo hunter || passwd --stdin bob", "echo hunter || passwd --stdin bob"),
        ("echo hunter; cat x | passwd --stdin bob", "echo hunter; cat x | passwd --stdin bob"),
        ("echo hunter | box set-password grep", "echo **** | box set-password grep"),
        ("echo hunter | grep set-password bob", "echo hunter | grep set-password bob"),
    ],
)
def test_a_secret_is_written_through_pipes_and_through_nothing_else(line: str, masked: str):
    assert mask(line) == masked


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("ftp -n box <<E\nuser bob hunter\nE", "ftp -n box <<E\nuser bob ****\nE"),
        ("ftp -n box <<E\nuser bob hunter\nget a\nE", "ftp -n box <<E\nuser bob ****\nget a\nE"),
        ("ftp -n box <<E\nuser bob\nE", "ftp -n box <<E\nuser bob\nE"),
        ("the ftp user bob reads mail", "the ftp user bob reads mail"),
    ],
)
def test_a_password_is_known_by_its_place_in_what_ftp_is_told(line: str, masked: str):
    assert mask(line) == masked


@pytest.mark.parametrize("word", ["user", "proxy-user"])
@pytest.mark.parametrize("form", ['{} = "bob:{}"', '{} "bob:{}"', "{} = bob:{}", "{} bob:{}"])
def test_the_password_of_curls_file_is_masked_however_it_is_written(word: str, form: str):
    line = f"curl -K - <<< '{form.format(word, 'heron-grey')}'"
    assert mask(line) == line.replace("heron-grey", "****")


@pytest.mark.parametrize("password", ["heron;grey", "heron grey", "heron|grey & more"])
def test_in_curls_file_quotes_hold_a_password_together(password: str):
    assert mask(f"curl -K - <<< 'user = \"bob:{password}\"'") == "curl -K - <<< 'user = \"bob:****\"'"


@pytest.mark.parametrize("value", ["bob", ":heron-grey", "bob:", "https://example.invalid"])
def test_what_is_no_password_in_curls_file_stays(value: str):
    assert mask(f"curl -K - <<< 'user = {value}'") == f"curl -K - <<< 'user = {value}'"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE USER bob IDENTIFIED BY '{}'",
        "CREATE USER bob IDENTIFIED WITH native AS '{}'",
        "ALTER USER bob PASSWORD '{}'",
        "alter role bob with password '{}'",
        "SET PASSWORD = '{}'",
    ],
)
def test_a_password_in_a_statement_of_sql_is_masked(statement: str):
    assert mask(f'db "{statement}"'.format("heron-grey")) == f'db "{statement}"'.format("****")


def test_the_word_password_in_a_sentence_masks_nothing():
    assert mask("echo \"a password 'heron-grey' may be\"") == "echo \"a password 'heron-grey' may be\""


def test_masking_the_list_twice_changes_nothing_more():
    for entry in [*SECRETS, *LATER, *NEWEST, *MENDED, *OF_PROGRAMS]:
        once = mask(entry["text"])
        assert mask(once) == once


def test_of_recorded_command_lines_fewer_than_one_in_a_hundred_change(transcripts: Path):
    done = subprocess.run(
        [sys.executable, "benchmarks/masked_commands.py", "--transcripts", str(transcripts), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["lines"] > 1_000
    assert answer["changed"] < 0.01 * answer["lines"]


# --- the tables and what lets texts through to them -----------------------------------------------------------------------------

WORD = "hunter-two"


def test_every_option_of_every_program_is_masked():
    shown = []
    for name, option in [(name, option) for names, listed in programs.OPTIONS for name in names.split() for option in listed.split()]:
        bare = option.rstrip("*?")
        line = f"{name} {bare}{WORD}" if option[-1] in "*?" else f"{name} {bare} {WORD}"
        if mask(line) != line.replace(WORD, MASK):
            shown.append(line)
    assert shown == []


def test_every_phrase_is_masked():
    lines = [_line_of(phrase, name) for phrase in programs.PHRASES for name in phrase.split(maxsplit=1)[0].split("|")]
    assert [line for line in lines if WORD in mask(line)] == []


def _line_of(phrase: str, name: str) -> str:
    """A line of a program that a phrase stands for, with a secret where the phrase says."""
    parts = [name.replace("*", "x")]
    for part in phrase.split()[1:]:
        first = part.split("|")[0].replace("*", "x")
        parts.append(
            {
                ".": "some",
                "+.": "some",
                "..": "some",
                "X": WORD,
                "+X": WORD,
                "=": "SOME=" + WORD,
                ":X": "bob:" + WORD,
                "/X": "bob/" + WORD,
            }.get(part, first)
        )
    return " ".join(parts).replace(">X", "'>" + WORD + "'")


def test_no_name_is_looked_for_in_every_text_that_the_tables_do_not_know():
    named = [names for names, _ in programs.OPTIONS] + [phrase.partition(" ")[0] for phrase in programs.PHRASES]
    pieces = {name.lower().replace(".", ":").partition(":")[0] for names in named for name in names.replace("|", " ").split()}
    assert set(NAMES.split()) <= pieces | programs.RECEIVERS | set(words.DIALOGUES), (
        "that each is there which is needed, the tests of the tables say"
    )


@pytest.mark.parametrize(
    "line",
    [
        *(f"echo hunter-two | {receiver} x" for receiver in sorted(programs.RECEIVERS - {"env"})),
        "http -a jo:hunter-two :8080/admin",
        "(ConvertTo-SecureString 'hunter-two' -AsPlainText -Force)",
        "User.objects.create_superuser('admin', 'a@acme.example', 'hunter-two')",
        "12 passed, jo:hunter-two@db.example",
        "git -c core.author x push -u jo:hunter-two",
    ],
)
def test_a_line_that_shows_a_secret_is_looked_at(line: str):
    assert WORD not in mask(line)


# --- what differs in its secrets alone stays different ----------------------------------------------------------------------------


def _classified(tool: str, tool_input: dict):
    return classify(
        Call("toolu_1", TOOLS.of(tool), tool_input, Outcome(chars=10, content_hash="x")), "/work", Ruleset.from_config({}, TOOLS)
    )


@pytest.mark.parametrize(
    ("tool", "field", "text"),
    [
        ("Bash", "command", "curl -H 'Authorization: Bearer {0}' https://example.invalid"),
        ("Bash", "command", "rg 'password={0}' src"),
        ("Grep", "pattern", "{0}"),
        ("Glob", "pattern", "**/{0}/*"),
        ("Read", "file_path", "/srv/{0}/app.log"),
    ],
)
def test_a_call_supersedes_one_with_the_same_secret_and_none_with_another(tool: str, field: str, text: str):
    one, same, other = (
        _classified(tool, {field: text.format(secret)}) for secret in ("ghp_" + "a1B2" * 9, "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9)
    )
    assert one.label == other.label
    assert MASK in one.label
    assert covers(same.parts[0], one.parts[0])
    assert not covers(other.parts[0], one.parts[0])
    kept = json.dumps([one.label, one.parts, one.subjects, one.action])
    assert "a1B2" not in kept


@pytest.mark.parametrize(
    ("spans", "joined"),
    [
        ([], []),
        ([(3, 5), (1, 2)], [[1, 2], [3, 5]]),
        ([(1, 3), (3, 5)], [[1, 3], [3, 5]]),
        ([(1, 4), (3, 5)], [[1, 5]]),
        ([(1, 9), (3, 5), (8, 10)], [[1, 10]]),
        ([(1, 1), (3, 3)], []),
        ([(1, 3), (3, 3)], [[1, 3]]),
    ],
)
def test_spans_that_overlap_are_one(spans: list[tuple[int, int]], joined: list[list[int]]):
    assert masking._joined(spans) == joined


def test_a_secret_that_no_text_can_hold_is_told_apart_too():
    one, other = (mask(f"curl -u bob:hunter{char} x", tell_apart=True) for char in "\ud800\ud801")
    assert MASK in one
    assert "hunter" not in one
    assert one != other
