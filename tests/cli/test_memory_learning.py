"""`popkit memory admin learn`, `export` and `import`: from real transcripts and from files, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pexpect
import pytest

from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.state import memory
from tests.cli.remembered import GOLDENS, Remembered, fits, unwrapped
from tests.kit.forks import Forks


def texts(shop: Remembered, *flags: str) -> set[str]:
    return {item["text"] for item in shop.items(*flags).values()}


def test_a_session_teaches_what_was_written_run_and_asked_for(shop: Remembered, golden) -> None:
    shown = shop.memory("admin", "learn", str(shop.session("first")))
    assert fits(shown)
    golden(GOLDENS / "learn.txt", shown)
    assert "src/checkout/basket_total.ts" in texts(shop, "--kind", "path")
    assert "npm run test:unit" in texts(shop, "--kind", "command")
    assert "Always run the linter before you commit." in texts(shop, "--kind", "note")


@pytest.mark.parametrize("word", ["first", "fir", "path"])
def test_a_session_goes_by_its_id_the_beginning_of_it_or_its_file(shop: Remembered, word: str) -> None:
    path = shop.session("first")
    assert shop.json("admin", "learn", str(path) if word == "path" else word)["sessions"] == 1


def test_without_a_name_it_is_the_newest_session_of_the_project(shop: Remembered) -> None:
    shop.session("first", "src/older_module.ts")
    shop.session("second", "src/newer_module.ts")
    shop.memory("admin", "learn")
    assert texts(shop, "--kind", "path") == {"src/newer_module.ts"}


def test_past_sessions_are_learnt_in_the_order_of_time_and_again_changes_nothing(shop: Remembered, tmp_path: Path) -> None:
    for id in ("zebra", "monkey", "ape"):
        shop.session(id)
    answer = shop.json("admin", "learn", "--past")
    assert (answer["sessions"], answer["projects"]) == (3, ["shop"])
    (path,) = (item for item in shop.items().values() if item["kind"] == "path")
    assert (path["sessions"], path["reinforcements"]) == (3, 2)
    first = next(item for item in shop.items().values() if item["kind"] == "note")
    assert first["episode"] == "zebra", "the one that began first"
    before = shop.exported()
    shop.memory("admin", "learn", "--past")
    assert shop.exported() == before


def test_sessions_of_other_projects_are_not_past_sessions_of_this_one(shop: Remembered, tmp_path: Path) -> None:
    shop.session("first")
    other = tmp_path / "other"
    other.mkdir()
    assert "no past sessions of other" in " ".join(shop.ask("admin", "learn", "--past", "--project", str(other)).stderr.split())


def test_a_session_teaches_the_project_that_it_began_in_wherever_one_is(shop: Remembered, tmp_path: Path) -> None:
    path = shop.session("first")
    other = tmp_path / "other"
    other.mkdir()
    assert shop.popkit("memory", "admin", "learn", str(path), cwd=other).returncode == 0
    assert "src/checkout/basket_total.ts" in texts(shop)
    assert texts(shop, "--project", str(other)) == set()
    shop.memory("admin", "learn", str(path), "--project", str(other))
    assert "src/checkout/basket_total.ts" in texts(shop, "--project", str(other)), "unless one says which"


def test_files_that_are_not_transcripts_are_left_out_with_the_reason(shop: Remembered) -> None:
    path = shop.session("first")
    empty, foreign = shop.project / "empty.jsonl", shop.project / "foreign.jsonl"
    empty.write_text("")
    foreign.write_text("root:x:0:0\n")
    answer = shop.json("admin", "learn", str(path), str(empty), str(foreign))
    assert answer["sessions"] == 1
    assert sum(answer["left_out"].values()) == 2
    assert "Left out" in shop.memory("admin", "learn", str(path), str(empty))
    assert "is empty" in shop.mistake("admin", "learn", str(empty))


def test_a_session_that_several_learn_at_once_counts_once(forks: Forks, shop: Remembered) -> None:
    path = shop.session("first")
    shop.together(forks, [["memory", "admin", "learn", str(path)]] * 5)
    at_once = shop.items()
    shop.memory("admin", "learn", str(path))
    assert shop.items() == at_once
    assert {item["sessions"] for item in at_once.values()} == {1}


# --- for the hooks -----------------------------------------------------------------------------------------------------------------------


def at_the_end(shop: Remembered, path: object) -> None:
    """What a hook's child does."""
    done = shop.ask("admin", "learn", str(path), "--if-on", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_where_memory_is_off_a_child_learns_nothing(shop: Remembered) -> None:
    at_the_end(shop, shop.session("first"))
    assert not list(shop.home.rglob("*.sqlite"))
    assert shop.log() == ""


def test_where_it_is_on_a_child_learns_writes_memory_md_and_runs_the_job(shop: Remembered) -> None:
    shop.memory("on")
    at_the_end(shop, shop.session("first"))
    assert "src/checkout/basket_total.ts" in texts(shop)
    (document,) = shop.home.glob("memory/*/MEMORY.md")
    assert "basket_total.ts" in document.read_text()
    assert shop.json("status")["run"]["at"] == shop.now
    assert shop.log() == ""


def test_a_child_learns_what_earlier_ones_left_undone(shop: Remembered) -> None:
    shop.memory("on")
    left = shop.session("first", "src/first_module.ts")
    kept = memory.project_of(str(shop.home), str(shop.project))
    kept.note_ended("first", str(left), shop.now)
    kept.note_ended("gone", "/no/such/transcript.jsonl", shop.now)
    at_the_end(shop, shop.session("second", "src/second_module.ts"))
    assert {"src/first_module.ts", "src/second_module.ts"} <= texts(shop)
    assert kept.to_learn() == []
    assert shop.log() == ""


@pytest.mark.parametrize("content", [None, "", "{}\n"])
def test_a_session_without_a_conversation_has_nothing_to_teach(shop: Remembered, content: str | None) -> None:
    shop.memory("on")
    path = shop.project / "silent.jsonl"
    if content is not None:
        path.write_text(content)
    at_the_end(shop, path)
    assert shop.log() == ""


def test_a_child_that_fails_says_so_in_the_log_alone(shop: Remembered) -> None:
    shop.memory("on")
    path = shop.session("first")
    (shop.home / "memory.sqlite").write_text("no database" * 1_000)
    at_the_end(shop, path)
    at_the_end(shop, "--nonsense")
    assert " memory-learn StoreUnavailable" in shop.log()
    assert " memory-learn UsageError" in shop.log()


def test_progress_is_shown_on_a_terminal_alone(shop: Remembered) -> None:
    paths = [str(shop.session(id)) for id in ("first", "second")]
    child = shop.at_terminal("memory", "admin", "learn", *paths)
    child.expect(pexpect.EOF)
    assert "50 % of 2 sessions" in child.before
    assert "Learnt from 2 sessions of shop." in child.before


def test_worktrees_teach_one_project(shop: Remembered, tmp_path: Path) -> None:
    worktree = tmp_path / "worktree"
    private = shop.project / ".git" / "worktrees" / "worktree"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {private}\n")
    project, shop.project = shop.project, worktree
    shop.transcript = shop.claude / "projects" / folder_name(str(worktree)) / "second.jsonl"
    shop.transcript.parent.mkdir(parents=True)
    shop.session("second")
    shop.project = project
    assert shop.json("admin", "learn", "--past")["sessions"] == 1
    assert "src/checkout/basket_total.ts" in texts(shop)


# --- checkouts that are gone -------------------------------------------------------------------------------------------------------


def test_a_project_whose_folder_is_gone_is_found_by_its_path(shop: Remembered, tmp_path):
    shop.memory("on")
    shop.memory("admin", "learn", str(shop.session("first")))
    shop.project.rename(tmp_path / "elsewhere")
    there = shop.memory("list", "--project", str(shop.project), cwd=tmp_path)
    assert "src/checkout/basket_total.ts" in there
    assert "src/checkout/basket_total.ts" in shop.memory("list", "--project", str(shop.project / "src"), cwd=tmp_path)


def test_a_checkout_that_taught_the_project_and_is_gone_is_still_of_it(shop: Remembered, tmp_path):
    shop.memory("on")
    clone = tmp_path / "workspaces" / "calm"
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "config").write_text((shop.project / ".git" / "config").read_text())
    shop.memory("admin", "join", cwd=clone)
    home, shop.project = shop.project, clone
    shop.memory("admin", "learn", str(shop.session("second", "src/second_module.ts")))
    shop.project = home
    clone.rename(tmp_path / "elsewhere")
    assert "src/second_module.ts" in shop.memory("list", "--project", str(clone), cwd=tmp_path)


def test_worktrees_without_git_are_one_project(shop: Remembered, tmp_path):
    folders = [tmp_path / "plain" / ".claude" / "worktrees" / name for name in ("calm", "brave")]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        shop.project = folder
        shop.memory("admin", "learn", str(shop.session(f"s{number}", f"src/module_number_{number}.ts")), cwd=folder)
    folders[0].rename(tmp_path / "elsewhere")
    assert all(f"src/module_number_{number}.ts" in shop.memory("list", "--project", str(folders[0]), cwd=tmp_path) for number in (0, 1))


# --- what an item was learnt from, and what the client keeps itself -------------------------------------------------------------------


def test_why_says_what_has_become_of_the_file_that_an_item_was_learnt_from(shop: Remembered):
    shop.memory("admin", "learn", str(shop.session("first")))
    (id,) = [id for id, item in shop.items().items() if item["kind"] == "path"]
    assert "src/checkout/basket_total.ts: as it was" in shop.memory("why", id)
    (shop.project / "src/checkout/basket_total.ts").write_text("changed")
    assert "src/checkout/basket_total.ts: changed since" in shop.memory("why", id)
    (shop.project / "src/checkout/basket_total.ts").unlink()
    assert shop.json("why", id)["learnt_at"]["files"][0]["state"] == "gone"
    assert "basket_total" not in shop.memory("admin", "file")


def test_status_prices_claude_code_s_own_memory_and_memory_md_does_not_repeat_it(shop: Remembered):
    shop.memory("on")
    shop.memory("admin", "learn", str(shop.session("first")))
    theirs = shop.transcript.parent / "memory"
    theirs.mkdir()
    (theirs / "MEMORY.md").write_text("Always run the linter before you commit.\n")
    (theirs / "shipping.md").write_text("Ship on Fridays.\n")
    status = " ".join(shop.memory("status").split())
    assert "Claude's" in status
    assert "1 topic" in status
    assert shop.json("status")["theirs"]["topics"] == 1
    assert "linter" not in shop.memory("admin", "file")
    assert sorted(path.name for path in theirs.iterdir()) == ["MEMORY.md", "shipping.md"]


# --- export and import -------------------------------------------------------------------------------------------------------------------


def test_what_is_exported_can_be_taken_in_elsewhere(filled: Remembered, tmp_path: Path) -> None:
    filled.memory("admin", "export", str(tmp_path / "out.jsonl"))
    assert filled.memory("admin", "export") == filled.memory("admin", "export", "--json") == (tmp_path / "out.jsonl").read_text()
    before = filled.exported()
    (tmp_path / "elsewhere").mkdir()
    other = Remembered(tmp_path / "elsewhere")
    other.now = filled.now
    assert other.memory("admin", "import", str(tmp_path / "out.jsonl")) == f"Imported {len(before)} items.\n"
    assert other.exported() == before
    assert other.json("admin", "import", "-", "--missing", stdin=filled.memory("admin", "export"))["items"] == 0


def test_an_import_says_which_items_this_project_does_not_show(filled: Remembered, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = Remembered(tmp_path / "elsewhere")
    other.now = filled.now
    (other.project / ".git" / "config").unlink()
    said = unwrapped(other.memory("admin", "import", "-", stdin=filled.memory("admin", "export")))
    assert "Imported 7 items. 7 of other projects: --project . imports those of one project here" in said
    assert other.items() == {}
    said = other.memory("admin", "import", "-", "--project", str(other.project), stdin=filled.memory("admin", "export"))
    assert said == "Imported 7 items.\n"
    assert len(other.items()) == 7


@pytest.mark.parametrize("spoil", [lambda text: text[:-200], lambda text: text.replace("make check", "rm -rf /")], ids=["cut", "changed"])
def test_an_import_that_fails_leaves_all_as_it_was(filled: Remembered, tmp_path: Path, spoil) -> None:
    path = tmp_path / "spoilt.jsonl"
    path.write_text(spoil(filled.memory("admin", "export")))
    (tmp_path / "elsewhere").mkdir()
    other = Remembered(tmp_path / "elsewhere")
    other.now = filled.now
    other.add("what was there")
    before = other.exported()
    other.mistake("admin", "import", str(path))
    other.mistake("admin", "import", "-", stdin=path.read_bytes())
    assert other.exported() == before


def test_an_export_that_cannot_be_written_says_so(filled: Remembered) -> None:
    assert "No such file" in filled.mistake("admin", "export", "no/such/file")
    assert "not a regular file" in filled.mistake("admin", "export", str(filled.project))
    assert not list(filled.project.glob("*.tmp"))


def test_an_export_replaces_files_alone(filled: Remembered, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in filled.mistake("admin", "export", str(pipe))
    assert pipe.is_fifo(), "so would a device have been"
