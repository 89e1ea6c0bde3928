"""What a session teaches: the files and names that it has shown, what the user said to keep to; and all that it never teaches."""

from __future__ import annotations

import subprocess
import time

import pytest

from popkit_retention.core.io import repository
from popkit_retention.core.io.repository import Repository
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.memory import extraction
from popkit_retention.memory.extraction import directives
from popkit_retention.memory.extraction.defined_names import definitions
from popkit_retention.memory.extraction.provenance import defined_in, needs
from popkit_retention.memory.items import NAME, NOTE, PATH
from tests.memory.taught import SECRET, SHOP, Session, gone, observed, taught

# --- files --------------------------------------------------------------------------------------------------------------------------


def test_files_are_those_of_the_repository_that_a_call_has_shown_to_be_there(session, tmp_path):
    session.read("/shop/src/a.py", "")
    session.read("/shop/.claude/worktrees/calm-hopper/src/b.py", "")
    session.edit("/shop/src/c.py", "x")
    session.run("cat src/d.py", "text")
    session.say("See /shop/src/e.py:12 and src/f.py.")
    session.read("/etc/hosts.conf", "")
    session.read("/private/scratch/run.py", "")
    assert sorted(taught(session, tmp_path, PATH)) == [f"src/{name}.py" for name in "abcd"]


def test_on_windows_too(tmp_path):
    session = Session()
    session.use("t1", "Read", {"file_path": r"D:\shop\src\a.py"})
    session.result("t1", "text")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), Repository("shop-1", "D:/shop", "shop"))
    assert [each.text for each in lesson.observed] == ["src/a.py"]


def test_a_path_whose_read_failed_is_no_file_and_known_to_be_gone(session, tmp_path):
    session.use("t1", "Read", {"file_path": "/shop/src/field_mapper.py"})
    session.result("t1", "<tool_use_error>File does not exist.</tool_use_error>", error=True)
    assert taught(session, tmp_path) == []
    assert gone(session, tmp_path) == ((PATH, "src/field_mapper.py"),)


@pytest.mark.parametrize("line", ["rm src/a.py", "git rm -q src/a.py", "cd src && mv a.py b.py", "rm -rf src"])
def test_what_a_session_deleted_or_moved_away_is_gone(session, tmp_path, line):
    session.read("/shop/src/a.py", "")
    session.run(line)
    assert taught(session, tmp_path, PATH) == []
    assert (PATH, "src/a.py") in gone(session, tmp_path)


@pytest.mark.parametrize(
    "path",
    [
        ".claude/projects/x/memory/MEMORY.md", "node_modules/x/index.js", ".git/config", ".claude/plans/calm.md", "journals/2026-01-09.md",
        "plans/2026-02-15-roadmap.md", "runs/1770760829123.txt", "shot.png",
    ],
)  # fmt: skip
def test_private_files_of_tools_and_output_of_one_day_are_not_remembered(session, tmp_path, path):
    session.read(f"/shop/{path}", "")
    assert taught(session, tmp_path) == []


def test_a_pattern_is_no_file(session, tmp_path):
    session.run("cat src/*.py web/?.js src/a.py", "text")
    assert taught(session, tmp_path, PATH) == ["src/a.py"]


def test_a_file_shown_by_a_shell_of_unknown_folder_is_the_one_known_there(session, tmp_path):
    session.read("/shop/web/themes.js", "")
    session.run("cd web && make all", "ok")
    session.run("cat themes.js", "text")
    session.run("cat other.js", "text")
    assert sorted(taught(session, tmp_path, PATH)) == ["other.js", "web/themes.js"]


def test_a_migration_is_code_and_bears_the_name_of_a_moment(session, tmp_path):
    session.read("/shop/src/migrations/1740000000000-AddCoins.ts", "")
    assert taught(session, tmp_path, PATH) == ["src/migrations/1740000000000-AddCoins.ts"]


# --- names --------------------------------------------------------------------------------------------------------------------------


def test_a_name_is_learnt_that_was_looked_for_with_the_file_that_defines_it(session, tmp_path):
    session.read("/shop/src/a.py", "     1\u2192def countTheCoins():\n     2\u2192    total_of_coins = json.dumpsEverything()\n")
    session.say("countTheCoins adds up total_of_coins with json.dumpsEverything.")
    facts = observed(session, tmp_path, "countTheCoins")
    assert (facts.kind, facts.details["defined_in"]) == (NAME, "src/a.py")
    assert "defined_in" not in observed(session, tmp_path, "total_of_coins").details  # local
    assert "defined_in" not in observed(session, tmp_path, "dumpsEverything").details  # a library's


def test_a_search_tells_where_a_name_is_defined(session, tmp_path):
    session.use("t1", "Grep", {"pattern": "countTheCoins", "output_mode": "content"})
    session.result("t1", "src/a.py:12:def countTheCoins():\nsrc/b.py:3:    countTheCoins()")
    assert observed(session, tmp_path, "countTheCoins").details["defined_in"] == "src/a.py"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export async function loadTheCart() {", ["loadTheCart"]), ("class CashRegister:", ["CashRegister"]),
        ("func (r *Register) CountCoins(n int) error {", ["CountCoins"]), ("pub(crate) fn count_coins() {", ["count_coins"]),
        ("export const COIN_SIZES = [1]", ["COIN_SIZES"]), ("COIN_SIZES = (1,)", ["COIN_SIZES"]),
        ("  async countCoins(a) {", ["countCoins"]),
        ("type CoinSizes = {", ["CoinSizes"]), ("    const localTotal = 1", []), ("  if (someCondition) {", []), ("total = 3", []),
        ("def internationalisation():", []),
    ],
)  # fmt: skip
def test_what_a_language_defines_for_others(text, names):
    assert [name for name, _ in definitions(text)] == names


def test_what_was_merely_written_is_nothing_new(session, tmp_path):
    session.say("countTheCoins")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    assert lesson.observed == ()
    assert (NAME, "countTheCoins") in lesson.written


def test_what_a_tool_returned_and_the_assistant_did_not_write_is_not_learnt(session, tmp_path):
    session.read("/shop/src/a.py", "class CashRegister:\n    def countTheCoins(self): ...  # always use src/other.py\n")
    assert taught(session, tmp_path) == ["src/a.py"]


def test_what_nothing_told_the_assistant_it_knew_from_memory(session, tmp_path):
    session.prompt("Have a look at toldByTheUser.")
    session.say("rememberedName, toldByTheUser")
    session.read("/shop/src/a.py", "lookedUpName")
    session.say("lookedUpName")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    assert lesson.unaided == ("rememberedName",)


def test_look_ups_are_counted_with_their_tokens(session, tmp_path):
    session.read("/shop/src/a.py", "x" * 290)
    session.run("rg -n needle src", "y" * 290)
    session.run("pnpm test", "z" * 290)
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    assert (lesson.lookups, lesson.lookup_tokens) == (2, 2 * estimate_tokens("x" * 290))


def test_lines_rewritten_when_a_conversation_is_resumed_count_once(session, tmp_path):
    session.read("/shop/src/a.py", "def countTheCoins(): ...")
    session.say("countTheCoins")
    again = dict(session.entries[-1], uuid="again", parentUuid=session.last)
    session.say("something else, done")
    session.entries.append(again)
    assert observed(session, tmp_path, "countTheCoins").writes == 1


def test_what_subagents_wrote_into_the_same_file_is_left_out(session, tmp_path):
    session.say("countTheCoins", isSidechain=True)
    assert taught(session, tmp_path) == []


# --- directives -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Always use pnpm.", ["Always use pnpm."]), ("I prefer small commits.", ["I prefer small commits."]),
        ("Use tabs from now on.", ["Use tabs from now on."]), ("Never commit\nwithout signing.", ["Never commit without signing."]),
        ("Always check that the", []), ("Never use the following:\n- tabs", []), ('"Always obey" is what it says.', []),
        ("10:21:07 always fails at boot", []), ("Implement the following plan:\n\n- Always use tabs.", []),
        ("Fix it. Please never push to main. Thanks", ["Please never push to main."]),
        ("remember that the API is on port 3001", ["remember that the API is on port 3001"]),
        ("- From now on, write tests first\n- go", ["From now on, write tests first"]),
        ("don't ever touch the lock file", ["don't ever touch the lock file"]),
        ("Never mind.", []), ("Do you remember that?", []), ("I never said so.", []), ("It always fails here.", []),
        ("```\nalways use tabs\n```", []), ("> never do this", []), ("<file>\nalways obey\n</file>", []),
        ("always show checkbox | never", []), ("Always " + "x" * 400, []), ("x\n" * 3_000 + "Always use pnpm.", []),
    ],
)  # fmt: skip
def test_directives_are_what_a_person_said_to_keep_to(prompt, expected):
    assert directives(prompt) == expected


def test_a_secret_in_a_directive_is_masked():
    assert SECRET not in directives(f"Always use the key {SECRET}.")[0]


def test_only_what_the_user_typed_yields_notes(session, tmp_path):
    session.read("/shop/CONTRIBUTING.md", "Always run the tests.")
    session.say("Always run the tests.")
    session.prompt("Always obey the hook.", isMeta=True)
    session.prompt("<command-name>/x</command-name>\nAlways obey the command.")
    session.prompt("Never commit on Fridays.")
    assert taught(session, tmp_path, NOTE) == ["Never commit on Fridays."]


# --- all of it --------------------------------------------------------------------------------------------------------------------


def test_a_secret_is_never_learnt(session, tmp_path):
    session.edit("/shop/.env.local", f"ANTHROPIC_API_KEY={SECRET}\nDB=postgres://root:hunter2hunter2@db.example.com/x")
    session.run(f"export TOKEN={SECRET} && pnpm deploy --token {SECRET}", "ok")
    session.run("pnpm test", f"Exit code 1\nError: bad token {SECRET}", error=True)
    session.edit("/shop/a.ts", SECRET)
    session.run("pnpm test", "ok")
    session.prompt(f"Remember that the token is {SECRET}.")
    session.say(f"The token is {SECRET}, the password hunter2hunter2.")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    assert SECRET not in repr(lesson)
    assert "postgres" not in repr(lesson)


def test_lines_that_are_none_are_passed_over(session, tmp_path):
    session.say("countTheCoins")
    path = tmp_path / "s.jsonl"
    session.write(path)
    path.write_bytes(
        b"\xff\xfe\nnull\n[]\n{}\n" + path.read_bytes() + b'{"type":"assistant","uuid":3,"message":7}\n{"type":"user","uuid":"x"'
    )
    assert extraction.lesson(str(path), SHOP).written == ((NAME, "countTheCoins"),)


def test_a_transcript_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="gone"):
        extraction.lesson(str(tmp_path / "gone.jsonl"), SHOP)


def test_when_it_began_and_ended_and_whose_it_is(session, tmp_path):
    session.say("done")
    lesson = extraction.lesson(session.write(tmp_path / "abc.jsonl"), SHOP)
    assert (lesson.session, lesson.project, lesson.ended - lesson.began) == ("abc", "shop-1", 1.0)


def _long_session() -> Session:
    session = Session()
    session.prompt("go on")
    for number in range(100):
        session.read(f"/shop/src/module{number}.py", f"def handleRequestNumber{number}(): ...\n" * 60)
        session.edit(f"/shop/src/module{number}.py", f"def answerRequestNumber{number}(first, second): ...\n" * 10)
        session.run(f"pnpm test src/module{number}.py", "3 passed\n" * 50)
    return session


@pytest.mark.bench
def test_a_session_of_300_calls_is_learnt_in_half_a_second(tmp_path):
    path = _long_session().write(tmp_path / "s.jsonl")
    began = time.process_time()
    lesson = extraction.lesson(path, SHOP)
    assert time.process_time() - began < 0.5
    assert len(lesson.observed) == 101  # the files, and the command


@pytest.mark.parametrize("name", ["a\nb.ts", "a\x1b[31mb.ts", "\u202eb.ts"])
def test_a_path_that_no_line_can_show_is_not_learnt(session, tmp_path, name):
    session.edit(f"/shop/src/{name}", "y")
    assert taught(session, tmp_path, PATH) == []


@pytest.mark.parametrize("text", ["../" * 50_000, "<a " * 50_000])
def test_a_text_that_leads_nowhere_is_read_in_one_go(tmp_path, text):
    session = Session()
    session.prompt(text)
    session.say(text)
    assert taught(session, tmp_path) == []


# --- provenance ---------------------------------------------------------------------------------------------------------------------


def test_a_command_knows_its_files_and_one_that_cannot_run_there_is_left_out(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "package.json").write_text('{"scripts": {"test": "x"}}')
    (tmp_path / "Makefile").write_text("check: all\n\ttrue\n")
    (tmp_path / "seed.py").write_text("")
    assert needs("cd api && pnpm test", "api", str(tmp_path)) == [["api", ""], ["api/package.json", '"test"']]
    assert needs("make check", "", str(tmp_path)) == [["Makefile", "check:"]]
    assert needs("python seed.py --all", "", str(tmp_path)) == [["seed.py", ""]]
    assert needs("go test ./...", "", str(tmp_path)) is None
    assert needs("cd web && pnpm test", "web", str(tmp_path)) is None


def test_a_name_that_was_looked_for_is_defined_where_the_checkout_alone_says_so(session, tmp_path):
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src" / "coins.ts").write_text("export const countTheCoins = 1\n  private async emptyTheTill(): Promise<void> {\n")
    (shop / "src" / "one.go").write_text("func (s *Shop) openTheShop() {\nfunc closeTheShop() {\n")
    (shop / "src" / "two.go").write_text("func closeTheShop() {\n\tfmt.printTheBill(1)\n")
    (shop / "README.md").write_text("class describedInProse\n")
    for line in ("init -q", "add -A"):
        subprocess.run(["git", *line.split()], cwd=shop, check=True, capture_output=True)
    names = ["countTheCoins", "emptyTheTill", "openTheShop", "closeTheShop", "printTheBill", "describedInProse"]
    assert defined_in(names, str(shop)) == {
        "countTheCoins": "src/coins.ts", "emptyTheTill": "src/coins.ts", "openTheShop": "src/one.go",
    }  # fmt: skip
    session.use("t1", "Grep", {"pattern": "countTheCoins"})
    session.result("t1", "src/till.ts")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), Repository("shop-1", str(shop), "shop"))
    details = next(each.details for each in lesson.observed if each.text == "countTheCoins")
    assert (details["defined_in"], "blob" in details) == ("src/coins.ts", True)


def test_a_checkout_with_none_of_the_files_says_nothing_of_them(session, tmp_path):
    (tmp_path / "shop").mkdir()
    for name in ("a.py", "b.py", "c.py"):
        session.read(f"{tmp_path}/shop/{name}", "x")
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), Repository("shop-1", f"{tmp_path}/shop", "shop"))
    assert [each.text for each in lesson.observed] == ["a.py", "b.py", "c.py"]


def test_learnt_items_know_commit_and_blob_and_a_deleted_file_is_not_learnt(session, tmp_path):
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "HEAD").write_text("0123456789" * 4 + "\n")
    (shop / "a.py").write_text("x")
    session.read(f"{shop}/a.py", "x")
    session.read(f"{shop}/b.py", "x")
    session.run("pnpm test", "ok", cwd=str(shop))
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), Repository("shop-1", str(shop), "shop"))
    details = {each.text: each.details for each in lesson.observed}
    assert details["a.py"] == {"opened": True, "commit": "0123456789" * 4, "blob": repository.blob_of(b"x")}
    assert "b.py" not in details
