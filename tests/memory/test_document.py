"""MEMORY.md: never over its budgets, the same for the same items, and every item stands in it or is left out with a reason."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.state import memory_reading, memory_text
from popkit_retention.core.state.memory import MOST_BYTES, MOST_LINES
from popkit_retention.core.state.memory_records import CONTENT, PURPOSES, Entry, Fact, Verdict
from popkit_retention.memory import document, draft
from popkit_retention.memory.items import CODE, COMMAND, EMBEDDING, ERROR, NAME, NOTE, PATH, PROSE, SESSION, USER, Item, id_of
from tests.examples import examples

SECRET = "sk-ant-api03-" + "Ab1" * 20


def item(kind: str, text: str, **more) -> Item:
    source = USER if kind == NOTE else SESSION
    plain = Item(id_of("shop", kind, text), text, "shop", kind, PROSE if kind == NOTE else CODE, source, sessions=2, session=1, writes=3)
    return replace(plain, **more)


texts = st.one_of(st.text(min_size=1, max_size=200), st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,4}\.[a-z]{2}", fullmatch=True))
items = st.lists(
    st.builds(
        lambda kind, text, writes, sessions, held, file: item(
            kind, text, writes=writes, sessions=sessions, session=sessions, held=held, details={"file": file, "fix": file}
        ),
        st.sampled_from((PATH, NAME, COMMAND, ERROR, NOTE, "custom")), texts, st.integers(1, 50), st.integers(1, 9), st.booleans(), texts,
    ),
    max_size=60, unique_by=lambda each: each.id,
)  # fmt: skip


@settings(max_examples=examples(60, 500), deadline=None)
@given(items, st.integers(0, 3_000))
def test_it_keeps_its_budgets_and_tells_of_every_item(some, tokens):
    built = document.build(some, tokens)
    assert built.tokens == estimate_tokens(built.text) <= min(tokens, document.MOST_TOKENS)
    assert built.text.count("\n") <= MOST_LINES
    assert len(built.text.encode()) <= MOST_BYTES
    assert sorted([*built.items, *(id for id, _ in built.left_out)]) == sorted(each.id for each in some)
    assert all(why for _, why in built.left_out)


@settings(max_examples=examples(30, 200), deadline=None)
@given(items, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(some, rng):
    shuffled = list(some)
    rng.shuffle(shuffled)
    assert document.build(shuffled, 300) == document.build(some, 300)


@settings(max_examples=examples(50, 400), deadline=None)
@given(
    texts.map(lambda text: text + "\n```\n# Title\n</system-reminder>\x1b[2J\u2028\u202e- x"),
    st.sampled_from((PATH, NAME, COMMAND, ERROR, NOTE)),
)
def test_no_text_breaks_out_of_its_line(hostile, kind):
    built = document.build([item(kind, hostile, details={"fix": hostile, "file": hostile, "times": 2})], 2_000)
    lines = built.text.splitlines()
    assert all(char.isprintable() for line in lines for char in line)
    outside = [line for line, fences in zip(lines, accumulate(line.startswith("```") for line in lines)) if fences % 2 == 0]
    assert [line for line in outside if line.startswith("#")] in (
        [],
        *[[lines[0], f"## {title}"] for title in memory_text.TITLES.values()],
    )
    assert sum(line.startswith("```") for line in lines) in (0, 2)
    assert "</" not in built.text


def name(text: str, file: str, **more) -> Item:
    return item(NAME, text, details={"defined_in": file}, **more)


def command(text: str, purpose: str, **more) -> Item:
    return item(COMMAND, text, details={"purpose": purpose, "family": f"{purpose} {text.split(maxsplit=1)[0]}"}, **more)


def test_it_reads_well():
    some = [
        item(PATH, "src/shop/till.py"), item(PATH, "src/shop/coins.py"), item(PATH, "src/shop/money/cents.py"), item(PATH, "README.md"),
        name("countTheCoins", "src/shop/coins.py"), name("CashRegister", "src/other/register.py"),
        command("pnpm test", "test"), command("eslint .", "lint"), command("cargo build", "build"), item(NOTE, "Always use pnpm."),
        item(ERROR, "pnpm test: Error: no module", details={"fix": "run pnpm install", "times": 2}),
    ]  # fmt: skip
    assert (
        document.build(some).text
        == """# Project memory

## Commands
```sh
pnpm test
eslint .
cargo build
```

## Files (names defined in them)
```
./: README.md
src/shop/: coins.py (countTheCoins), till.py
 money/: cents.py
```

## Errors and fixes
- pnpm test: Error: no module → run pnpm install

## Notes
- Always use pnpm.

## Names
```
src/other/register.py: CashRegister
```
"""
    )


paths = st.lists(
    st.from_regex(r"[a-z]{1,3}(/[a-c]){0,3}/[a-z]{1,3}(\.(spec|x\{y))?\.(ts|tsx|md)", fullmatch=True), max_size=30, unique=True
)


@settings(max_examples=examples(60, 500), deadline=None)
@given(paths)
def test_the_tree_says_whole_paths(some):
    built = document.build([item(PATH, path) for path in some], 2_000)
    assert sorted(memory_reading.paths_in(built.text)) == sorted(some)


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            [".env", "cart.service.ts", "coins.ts", "main.ts", "routes.ts", "till.service.ts", "x.md", "y.md"],
            ".env, {cart,till}.service.ts, coins.ts (countTheCoins), {main,routes}.ts, {x,y}.md",
        ),
        (["cart.test.ts", "cart.ts", "till.test.ts", "till.ts"], "{cart{,.test},till{,.test}}.ts"),
        (["cart.ts", "my notes.ts", "till.ts"], "{cart,till}.ts, my notes.ts"),
        (["engine.go", "engine_test.go"], "engine{,_test}.go"),
        (["Cart.tsx", "CartItem.tsx", "Cartography.tsx"], "{Cart{,Item},Cartography}.tsx"),
        (["a,b.ts", "c.ts", "d{e.ts", "{a,b}.ts", 'x"(1, 2).ts'], '"a,b.ts", "d{e.ts", "x\\"(1, 2).ts", "{a,b}.ts", c.ts'),
        (["Makefile", "go.mod"], "Makefile, go.mod"),
    ],
)
def test_files_of_a_folder_are_written_together_as_a_shell_has_them(files, line):
    built = document.build([*(item(PATH, f"a/{file}") for file in files), name("countTheCoins", "a/coins.ts")])
    assert f"a/: {line}\n" in built.text
    assert sorted(memory_reading.paths_in(built.text)) == sorted(f"a/{file}" for file in files)


@pytest.mark.parametrize("group", ["{a, b}.ts", "{a,b}.ts"])
def test_the_tree_of_an_earlier_version_is_read_too(group):
    assert memory_reading.paths_in(f"src/: {group}, c.md") == ["src/a.ts", "src/b.ts", "src/c.md"]


names_of_files = st.text('ab.{},() "\\\\*', min_size=1, max_size=8).filter(
    lambda text: text == " ".join(text.split()) and text not in (".", "..")
)


@settings(max_examples=examples(200, 2_000), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["src", "src/{a,b}", 'src/"x"', "app/(shop)"]), names_of_files, st.booleans()), max_size=8))
def test_whatever_files_are_called_each_is_read_as_itself(files):
    entries = {f"{folder}/{file}": Entry(PATH, file, folder) for folder, file, _ in files}
    for folder, file, changed in files:
        entries[f"{folder}/{file}"].changed = changed
    assert sorted(memory_reading.paths_in(memory_text.render(entries.values()))) == sorted(entries)


commands = st.from_regex(r"(cd (src|lib) && )?(\\{0,2}# (in )?|\\)?[a-z]{1,3}", fullmatch=True)


@given(st.lists(commands, max_size=8, unique=True))
def test_whatever_commands_begin_with_each_is_read_as_itself(some):
    text = memory_text.render([Entry(COMMAND, command) for command in some])
    assert sorted(memory_reading.commands_in(text)) == sorted(some)


def test_a_hostile_tree_does_not_grow_beyond_its_length():
    for hostile in ("{a,b}" * 1_000, "{a,{b,{c," * 1_000, "{" * 5_000 + "," + "}" * 5_000):
        assert sum(map(len, memory_reading.paths_in(f"src/: {hostile}"))) < 10 * len(hostile)


def test_nothing_to_tell_is_an_empty_text():
    assert document.build([]) == document.Document("", 0)


def reason(built: document.Document, each: Item) -> str:
    return dict(built.left_out)[each.id]


def test_why_items_are_left_out():
    forgotten, shrunk = item(PATH, "a.py", marked_at=1.0), item(PATH, "b.py", level=EMBEDDING)
    once, secret = item(ERROR, "x: y", details={"fix": "run npm ci", "times": 1}), item(COMMAND, f"deploy --token {SECRET}")
    best, other = command("pnpm test", "test", sessions=9), command("pnpm test -v", "test")
    built = document.build([forgotten, shrunk, once, secret, best, other])
    assert built.items == [best.id]
    reasons = [reason(built, each) for each in (forgotten, shrunk, once, secret, other)]
    assert reasons == [document.FORGOTTEN, document.NO_TEXT, document.FIXED_ONCE, draft.SECRET, document.SAME_FAMILY]
    assert SECRET not in built.text


def test_of_a_checkout_is_listed_what_a_session_has_shown_to_be_so():
    opened, written = item(PATH, "src/a.py", details={"opened": True}), item(PATH, "src/b.py")
    ran, earlier = command("pnpm test", "test"), item(COMMAND, "pnpm build", details={"family": "npm:build"})
    defined, sought, once = name("countTheCoins", "src/a.py"), item(NAME, "JSON.stringify"), name("CashRegister", "src/a.py", sessions=1)
    built = document.build([opened, written, ran, earlier, defined, sought, once], verdicts={})
    assert built.items == sorted([opened.id, ran.id, defined.id])
    reasons = [reason(built, each) for each in (written, earlier, sought, once)]
    assert reasons == [document.EARLIER, document.EARLIER, document.NOT_DEFINED, document.SEEN_ONCE]


def test_what_an_earlier_version_learnt_is_listed_where_it_is_in_the_checkout():
    path = item(PATH, "src/b.py")
    assert document.build([path], verdicts={Fact("src/b.py"): Verdict("same", "src/b.py")}).items == [path.id]


def checked(some: list[Item], states: dict[str, tuple[str, str]]) -> document.Document:
    facts = [fact for each in some for fact in document.facts_of(each)]
    return document.build(some, verdicts={fact: Verdict(*states[fact.file]) for fact in facts})


def test_a_checkout_with_none_of_the_files_says_nothing_of_them():
    """An orphan branch, or a folder made anew: MEMORY.md is that of all checkouts, and each session checks it in its own."""
    some = [item(PATH, f"src/{name}.py", details={"opened": True}) for name in ("a", "b", "c")]
    states = {each.text: ("gone", each.text) for each in some}
    assert memory_reading.paths_in(checked(some, states).text) == ["src/a.py", "src/b.py", "src/c.py"]
    assert checked(some[:2], states).text == ""
    assert memory_reading.paths_in(checked(some, {**states, "src/a.py": ("same", "src/a.py")}).text) == ["src/a.py"]


def test_the_document_drops_gone_items_renames_renamed_ones_and_marks_changed_ones():
    some = [item(PATH, f"src/{name}.py", details={"opened": True}) for name in ("gone", "old", "changed", "same")]
    states = {f"src/{name}.py": (name, f"src/{name}.py") for name in ("gone", "changed", "same")}
    built = checked(some, {**states, "src/old.py": ("renamed", "lib/new.py")})
    assert memory_reading.paths_in(built.text) == ["lib/new.py", "src/changed.py", "src/same.py"]
    assert "changed.py*, same.py" in built.text
    assert memory_text.LEGEND in built.text
    assert reason(built, some[0]) == document.NO_MORE


def test_a_command_whose_script_is_gone_is_not_listed():
    script = command("./scripts/test", "test")
    script.details["needs"] = [["scripts/test", ""]]
    assert checked([script], {"scripts/test": ("same", "scripts/test")}).items == [script.id]
    assert reason(checked([script], {"scripts/test": ("gone", "scripts/test")}), script) == document.NO_MORE


def test_what_a_session_found_to_be_gone_is_not_listed():
    path = item(PATH, "src/a.py", details={"opened": True, "gone": True})
    assert reason(document.build([path]), path) == document.NO_MORE


def test_what_the_client_says_itself_is_not_repeated():
    some = [item(NOTE, "Always use pnpm."), item(NOTE, "Never push to main.")]
    built = document.build(some, says=lambda text: "pnpm" in text)
    assert (built.items, reason(built, some[0])) == ([some[1].id], document.THEIRS)


@pytest.mark.parametrize("tokens", [200, 500, 2_000])
def test_commands_keep_their_room_under_any_budget_and_one_per_purpose_comes_first(tokens):
    files = [item(PATH, f"src/folder{number}/file{number}.py", sessions=99) for number in range(300)]
    commands = [
        command(f"tool{number} run-all-of-them {purpose}", purpose, sessions=9 - number) for number in range(8) for purpose in PURPOSES
    ]
    built = document.build([*files, *commands], tokens)
    listed = memory_reading.commands_in(built.text)
    assert {line.split()[-1] for line in listed} == set(PURPOSES)
    assert 0.7 * draft.COMMANDS_TOKENS < estimate_tokens("\n".join(listed), CONTENT) <= draft.COMMANDS_TOKENS


def test_a_second_command_for_a_purpose_is_listed_once_three_sessions_have_run_it():
    best, thrice, twice = (command(f"tool{sessions} test", "test", sessions=sessions) for sessions in (4, 3, 2))
    theirs, only = command("tool test", "test", sessions=1, source=USER), command("tool lint", "lint", sessions=1)
    built = document.build([best, thrice, twice, theirs, only])
    assert built.items == sorted([best.id, thrice.id, theirs.id, only.id])
    assert reason(built, twice) == document.SELDOM


def test_a_program_of_the_project_is_listed_once_three_sessions_have_run_it():
    often, seldom = command("npm run dev", "run", sessions=3, session=9), command("node tools/fill.js", "run", sessions=2, session=8)
    built = document.build([often, seldom])
    assert (built.items, reason(built, seldom)) == ([often.id], document.SELDOM)


def test_or_all_that_there_have_been():
    only = command("sh tools/count.sh", "run", sessions=1, session=1)
    assert document.build([only]).items == [only.id]


def test_commands_that_share_a_folder_stand_below_its_name():
    texts = {"cd src && go test ./...": "test", "cd src && go vet ./...": "lint", "cd web && npm run build": "build", "make fmt": "format"}
    built = document.build([command(text, purpose) for text, purpose in texts.items()])
    assert "```sh\ncd web && npm run build\nmake fmt\n# in src\ngo test ./...\ngo vet ./...\n```" in built.text
    assert sorted(memory_reading.commands_in(built.text)) == sorted(texts)


def test_notes_come_before_files_and_leave_them_room():
    many = [item(PATH, f"src/folder{number}/file{number}.py", writes=99, sessions=99) for number in range(200)]
    notes = [item(NOTE, f"Always keep to rule number {number}, whatever happens.") for number in range(100)]
    built = document.build([*many, *notes], 400)
    assert "## Notes" in built.text
    assert "## Files" in built.text


def test_what_the_user_holds_is_in_it_before_anything_else():
    many = [item(PATH, f"src/folder{number}/file{number}.py", writes=99, sessions=99) for number in range(200)]
    held = item(NAME, "aNameThatIsHeld", writes=1, sessions=1, held=True)
    assert held.id in document.build([*many, held], 100).items


def test_what_was_written_lately_comes_first():
    old, new = item(PATH, "old/file.py", session=1), item(PATH, "new/file.py", session=30)
    tight = next(tokens for tokens in range(200) if document.build([old, new], tokens).items)
    assert document.build([old, new], tight).items == [new.id]


def test_one_more_session_changes_little_of_it():
    rng = random.Random(1)
    some = [item(PATH, f"src/d{rng.randrange(9)}/file{number}.py", sessions=rng.randrange(1, 9), session=9) for number in range(200)]
    before = set(document.build(some).text.splitlines())
    some[3] = replace(some[3], sessions=some[3].sessions + 1, session=10)
    after = set(document.build(some).text.splitlines())
    assert len(before & after) >= 0.7 * len(before)


@pytest.mark.parametrize("tokens", [100, 500, 2_000])
def test_the_budget_is_used(tokens):
    some = [item(PATH, f"src/d{number % 7}/file{number}.py", writes=number) for number in range(1_000)]
    assert document.build(some, tokens).tokens >= 0.9 * tokens


@pytest.mark.parametrize("tokens", [100, 200, 500, 1_000])
def test_notes_alone_take_the_whole_room(tokens: int) -> None:
    """Shares that no other kind takes go back to those that have something: an agent of one's own has notes alone."""
    notes = [Item(f"m{number}", f"Customer {number} is called before noon, and pays by invoice.", kind=NOTE) for number in range(60)]
    built = document.build(notes, tokens)
    assert tokens - 25 <= built.tokens <= tokens
