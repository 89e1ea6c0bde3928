"""Small decisions at the edges of what they take, as a golden: `goldens/edges.txt`; and which look of the corpus covers which.

`--update-goldens` writes them anew, and the difference is for a person to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.policy import (
    calls,
    economics,
    estimate,
    globs,
    limits,
    messages,
    models,
    needles,
    outlines,
    parts,
    random_words,
    secret_shapes,
)
from popkit_retention.core.policy.commandline import bash
from popkit_retention.core.policy.coverage import covers
from popkit_retention.core.policy.door.shown import Source
from popkit_retention.core.policy.list_text import folded, handle_of_list, read
from popkit_retention.core.policy.lists import EarlierList
from popkit_retention.core.policy.models import Model
from popkit_retention.core.policy.usage import Usage
from tests.policy.test_corpus_of_lines import corpus

GOLDENS = Path(__file__).with_name("goldens")


def coverage() -> Iterator[str]:
    """Under each key its scopes, with the numbers of those that a newer result of the same scope makes obsolete."""
    known: dict[str, list[list]] = {}
    for line in corpus():
        for action in bash.actions(line, "/w"):
            key, scope = action.part
            scopes = known.setdefault(key, [])
            if scope not in scopes:
                scopes.append(scope)
    for key, scopes in sorted(known.items()):
        if len(scopes) > 1:
            yield key
            for number, scope in enumerate(scopes):
                covered = [str(other) for other, old in enumerate(scopes) if covers((key, scope), (key, old))]
                yield f"  {number} {' | '.join(map(str, scope)) or '(all)'}: {' '.join(covered) or 'none'}".replace("\n", "↵")


PATTERNS = (
    "*.py",
    "a.py",
    "src/",
    "src/*.py",
    "src/**/b.py",
    "/p/src",
    "./a.py",
    "**",
    "?.py",
    "[ab].py",
    "[!a].py",
    "[a-c]?.py",
    "a[",
    "npm *",
    "*test*",
    "src/*",
    "**/a.py",
    "a\\b.py",
    "",
    "x" * 256,
    "x" * 257,
    "*" * 9 + "y",
    "[]]a",
    "[-a]b",
    "A.PY",
)
TEXTS = (
    "a.py",
    "src/a.py",
    "/p/src/a.py",
    "/p/src/x/b.py",
    "b.py",
    "c.py",
    "npm test",
    "npm run test:unit",
    "a\\b.py",
    "a[",
    "x" * 256,
    "]a",
    "-b",
    "d:/x/a.py",
    "src",
    "~/a.py",
    "./a.py",
    "ab.py",
    "A.py",
)


def matching() -> Iterator[str]:
    for pattern in PATTERNS:
        found = [text[:20] for text in TEXTS if globs.matches(pattern, text)]
        commands = [text[:20] for text in TEXTS if globs.matches_command(pattern, text)]
        about = f"wild {needles.is_wild(pattern)}, needle {needles.needle_of(pattern)[:20]!r}"
        yield f"{pattern[:20]} {len(pattern)}: {found}, as commands {commands}, {about}"


def paths() -> Iterator[str]:
    for path in (
        "",
        ".",
        "..",
        "a",
        "./a//b/../c",
        "/x/../../y",
        "~",
        "~/a",
        "$X/a",
        "a/$X",
        "a*",
        "C:\\a\\b",
        "c:/a",
        "/c/a",
        "`pwd`/a",
        "?/a",
        "a b",
        "...",
    ):
        yield f"{path!r} is {[parts.normal_path(path, folder) for folder in ('/w', '?', 'C:/w')]}"
    for text in ("$X", "a$", "${X}", "$(a)", "`a`", "a$1", "$", "\\$X", "a", "$-", "$_x"):
        yield f"{text!r} has a variable {parts.has_variable(text)}"
    for text in ("1", "2-3", "5-", "3-2", "x", "", "1,3", "0", " 2 - 4 "):
        yield f"pages {text!r} {parts.pages_of(text)}"
    for path in ("a*", "a?", "a[b]", "app/[id]/x", "a", "{a,b}"):
        yield f"{path} has a glob {parts.has_glob(path)}"
    for pattern in ("x", "^x$", "a|b", " x ", "x" * 300, ".*x.*", "(x)", "\\bx\\b"):
        yield f"content {pattern[:20]} {parts.content_search(pattern, ['/w'])} {parts.content_search(pattern, ['/w'], True, 'w')}"[:300]
    for pattern in ("*", "*.ts", "**/*.ts", "src/*.ts", "/p/**/a.py", "./x/*", "a/b", "**", "x/**"):
        yield f"files {pattern} {parts.file_search(pattern, ['/w'])}"


INTERVALS = ([1, 0], [1, 5], [5, 9], [6, 0], [10, 10], [0, 0], [4, 6], [11, 20])


def intervals() -> Iterator[str]:
    for one in INTERVALS:
        covered = [other for other in INTERVALS if covers(("read:/a", one), ("read:/a", other))]
        shared = [other for other in INTERVALS if parts.overlap(one, other)]
        yield f"{one} is {parts.describe_interval(one)}, covers {covered}, overlaps {shared}"
    for some in ([[1, 5], [6, 9]], [[1, 5], [7, 9]], [[1, 0], [5, 9]], [[5, 0], [1, 3]], [[3, 3]], [[0, 0]], [], [[2, 4], [1, 9]]):
        yield f"{some} together {parts.union(some)}: {parts.describe_intervals(some)}"


def names_of_models() -> Iterator[str]:
    known = ("claude-opus-4-5", "claude-opus-5", "gpt-5*", "claude-*", "claude-3-5-haiku")
    for id in (
        "claude-opus-4-5",
        "us.anthropic.claude-opus-4.5-v1:0",
        "claude-opus-4-5-20260101",
        "claude-opus-4-5@20260101",
        "claude-opus-5-7",
        "claude-opus-5-latest",
        "claude-opus-5[1m]",
        "CLAUDE-OPUS-5",
        "gpt-5.1-mini",
        "gpt-",
        "gpt-4",
        "claude",
        "x",
        "",
        "claude-opus-5-12",
        "claude-opus-5-v2",
        "claude-opus-5-vx",
        "claude-opus-5:beta",
        "claude-opus-51",
    ):
        name = models.plain(id)
        yield f"{id!r} {name!r} fits {[one for one in known if models._fits(one, name)]}"


def secrets() -> Iterator[str]:
    for word in (
        "",
        "abc",
        "abcdefgh1",
        "a1b2c3d4",
        "getUserById2",
        "2024-01-31",
        "x7Kq2Lp9",
        "x7Kq2Lp9Vb4Nz8Rt",
        "X7KQ2LP9VB4NZ8RT",
        "deadbeefdeadbeef",
        "1234567812345678",
        "0" * 15 + "a",
        "a/b/x7Kq2Lp9Vb4Nz8RtAbCd",
        "ABCD1-EFGH2-IJKL3-MNOP4",
        "ABCD-EFGH-IJKL",
        "sha256:x7Kq2Lp9",
        "x7Kq2Lp9.json",
        "$x7Kq2Lp9Vb",
        "(x7Kq2Lp9",
        "ümläut123",
        "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo5ODc2NTQ=",
        "a-x7Kq2Lp9Vb4Nz8RtAbCd-b",
        "NAME=x7Kq2Lp9Vb4Nz8RtAbCd",
        "x.mp4",
        "x.7z",
        "x.",
        "x7Kq2Lp9Vb4Nz8Rt==",
        "aB3x/Kq2L+9Vb4/Nz8R+AbCd/EfG5+JkL7/mN0pQr==",
    ):
        yield (
            f"{word!r} looks {random_words.looks_random(word)} runs {random_words.random_runs(word)} hex {random_words.is_hex(word)}"
            f" file {random_words.is_file(word)} public {random_words.is_public(word)} may {random_words.may_hold_random(word)}"
        )
    key = "x7Kq2Lp9Vb4Nz8RtAbCdEf"
    for text in (
        f"a ghp_{key} b",
        f"xghp_{key}",
        f"ghp_{key}.{key}",
        f"ghp_{key}==",
        "ghp_short",
        "=ghp_abcd",
        f"SG.{key}.{key}",
        f"SG.{key}.short",
        f"sk-{key}",
        "sk-plainwords",
        f"abcd{key}Q~{key}abcdefgh",
        f"1:AA{key}{key}",
        "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- y",
        "-----BEGIN CERTIFICATE-----x",
        f"ghp_{key} and npm_{key}",
    ):
        yield f"{text!r} {secret_shapes.spans(text)} {secret_shapes.without(text)!r}"


def counts() -> Iterator[str]:
    for chars in (0, 1, 99, 100, 1_000, 4_000):
        for field in ("signature", "data"):
            yield f"thinking of {chars} in {field} {messages.thinking_tokens({'type': 'thinking', field: 'x' * chars, 'thinking': 'well'})}"
    blocks = ({}, {"type": "text"}, {"type": "redacted_thinking"}, {"type": "thinking", "thinking": 3})
    yield f"{[messages.thinking_tokens(block) for block in blocks]}"
    for text in ("", "a", "価格", "a価", "x" * 1_000):
        yield f"{text[:5]!r} {[estimate.estimate_tokens(text, kind) for kind in ('code', 'log', 'odd')]} wide {estimate.wide_chars(text)}"
    for tail, code in (
        ("", None),
        ("a\nb\n", 0),
        ("\x1b[31mred\x1b[0m", 1),
        ("x" * 400, 2),
        ("3 passed in 0.1s\n\nDone", None),
        ("  \n", 1),
    ):
        yield f"verdict of {tail[:20]!r} {code} {calls.verdict_of(tail, code)!r}"
    for most in (1, 16, 17, 40, 100):
        yield f"bounded to {most} {calls.bounded('a long text that is cut somewhere in its middle', most)!r}"
    for ttl in (0, 299, 300, 301, 3_599, 3_600, 7_200):
        yield f"lifetime of {ttl} {economics.lifetime_of(ttl)}"
    for given in ((100, 20, 0), (10, 20, 0), (100, 20, 19), (100, 20, 20), (100, 20, 21), (100, 200, 5)):
        yield f"prefix of {given} {economics.kept_prefix(*given)}"
    for entry in (
        {},
        {"input": 3, "output": 15, "long_prompt": 200_000, "long_input": 6, "long_output": 22.5},
        {"write_1h": 3, "read": 0.05},
    ):
        model = Model("claude-opus-5", entry)
        prices = [model.write_price(ttl) for ttl in (0, 300, 301, 3_600)]
        yield f"model {entry} {prices} {model.output_units} {[model.usd(tokens) for tokens in (0, 200_000, 200_001)]}"
    usage = Usage(100, 1_000.0, "m", 300)
    for now in (1_000.0, 1_299.0, 1_300.0, 1_301.0):
        yield f"warm at {now} {usage.is_warm(now)} {usage.seconds_left(now)}"
    readings = [limits.Reading(limits.FIVE_HOUR, 1_000.0 + 600 * at, 10.0 + 5 * at, 20_000.0) for at in range(4)]
    pace = limits.pace(readings)
    full = [limits.full_at(readings[-1], known, 3_000.0) for known in (pace, None, 0.0)]
    yield f"pace {pace} full at {full}, of one {limits.pace(readings[:1])}"
    yield f"windows {[(one.newest.percent, one.full_at) for one in limits.windows(readings, 3_000.0)]}"


def lists() -> Iterator[str]:
    for labels, names, unnamed in (
        (["Read a.py", "Read a.py", "Bash npm test"], [], 0),
        (["Read a; b", "x: y", "z (3 times)"], ["total", "price"], 2),
        ([], [], 3),
        (["a"], ["n"], 1),
    ):
        message = folded(labels, "abcd2345", names, unnamed)
        earlier = EarlierList(message, ())
        yield f"{message.text!r} read {read(message.text)} handle {handle_of_list(message)} count {earlier.count}"
    source = Source("T1", "Read of a", ["x"] * 10, "/a", [(0, 4, 10), (5, 10, 1)])
    for number in (0, 1, 5, 9, 10, 13, 14):
        yield f"number {number}: {[source.at(number, count) for count in (1, 2, 4, 5)]}"
    for begin, end in ((0, 4), (1, 3), (3, 6), (5, 10), (9, 10), (4, 5)):
        yield f"lines {begin} to {end}: {source.number(begin, end)}"


def outlined() -> Iterator[str]:
    text = (
        "src/cart/total.ts:12: export function computeTotalOf(order)\n" * 9
        + "see https://docs.invalid/guide/page and package-name@1.2.3, plain-words here\n" * 9
    )
    run = (
        "\n".join(f"PASS tests/part_{at}.test.ts" for at in range(40))
        + "\nFAIL tests/shop.test.ts\n  ● the order › adds\n    Expected: 30\n    Received: 33\n1 failed, 40 passed\n"
    )
    for name, given in (("code", text), ("run", run), ("short", "x" * 100), ("plain", "only plain words here and there\n" * 40)):
        yield f"{name}: {outlines.outline(given)!r}"
        for is_run in (True, False):
            found = outlines.findings(given, is_run)
            yield f"  run {is_run}: {found.names[:12]} {found.failures}"
    for line in (
        "PASS x",
        "ok 1",
        "FAIL x",
        "  ✓ a",
        "not ok 2",
        "Expected: 1",
        "error: x",
        "an error",
        "0 failed",
        "test result: ok. 3 passed",
        "",
    ):
        yield f"{line!r} passes {outlines.passes(line)} fails {outlines.is_failure_line(line)}"
    for word in ("plain", "plain-word", "Plain/Word", "a1", "camelCase", "x.y.z", "UPPER"):
        yield f"{word} is plain {outlines.is_plain(word)}"
    yield f"most tokens {[outlines.most_tokens(tokens) for tokens in (0, 9, 10, 1_000)]}"


CHAPTERS = (matching, paths, intervals, names_of_models, secrets, counts, lists, outlined)


def test_small_decisions_are_as_the_golden_says(golden) -> None:
    rows = [row for chapter in CHAPTERS for row in (f"# {chapter.__name__}", *chapter())]
    golden(GOLDENS / "edges.txt", "".join(f"{row}\n" for row in rows))


def test_a_look_of_the_corpus_covers_those_that_the_golden_says(golden) -> None:
    golden(GOLDENS / "coverage.txt", "".join(f"{row}\n" for row in coverage()))


def test_what_covers_a_look_covers_what_that_covers() -> None:
    """Covering is transitive, but for looks that are not even sure to cover themselves."""
    shown = [action.part for line in corpus()[:300] for action in bash.actions(line, "/w")]
    by_key: dict[str, list] = {}
    for part in shown:
        by_key.setdefault(part[0], []).append(part)
    for same in by_key.values():
        for first in same:
            for second in (one for one in same if covers(first, one)):
                for third in (one for one in same if covers(second, one)):
                    assert covers(first, third)
