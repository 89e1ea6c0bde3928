"""Secrets of known forms are masked, what is none is left alone, and no text is too strange or too long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.policy.masking import MASK, mask
from tests.examples import examples
from tests.hooks.test_privacy import BY_LOOK, COMMANDS, KNOWN, SECRET


def test_a_secret_of_a_known_form_is_masked_and_its_command_can_still_be_told():
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


@settings(deadline=None, max_examples=examples(60, 400))
@given(TEXTS)
def test_masking_twice_changes_nothing_more(text: str):
    once = mask(text)
    assert mask(once) == once


@settings(deadline=None, max_examples=examples(60, 200))
@given(st.text(st.characters(), max_size=60) | TEXTS)
def test_masking_never_fails_and_lengthens_no_text_much(text: str):
    assert len(mask(text)) <= 4 * len(text) + len(MASK)


@settings(deadline=None, max_examples=examples(60, 200))
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
def test_a_password_of_words_and_digits_is_masked_where_what_is_around_it_tells(text: str):
    assert "kangaroo" not in mask(text)


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
