"""git itself says which files a commit holds."""

from __future__ import annotations

import subprocess
import time

import pytest

from popkit_retention.core.io import git

pytestmark = pytest.mark.usefixtures("patience_with_git")


@pytest.fixture
def shop(tmp_path):
    """A real repository with one commit."""
    folder = tmp_path / "shop with spaces"
    folder.mkdir()

    def run(*arguments: str) -> str:
        identity = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    run("init", "-q")
    (folder / "a.txt").write_text("a")
    run("add", "-A")
    run("commit", "-qm", "first")
    return folder, run


def names(found, folder):
    return [path.removeprefix(str(folder.resolve()) + "/") for path in found]


def test_the_hash_that_git_printed_names_the_files(shop):
    folder, run = shop
    (folder / "b.txt").write_text("b")
    (folder / "ü.txt").write_text("u")
    (folder / "²³¹²³¹²³¹").write_text("no time of a commit")
    run("add", "-A")
    output = run("commit", "-m", "second")
    (folder / "c.txt").write_text("c")
    run("add", "-A")
    run("commit", "-qm", "third")
    assert names(git.committed_files(str(folder), output, time.time()), folder) == ["b.txt", "²³¹²³¹²³¹", "ü.txt"]


def test_several_commits_of_one_line_are_taken_together(shop):
    folder, run = shop
    (folder / "b.txt").write_text("b")
    run("add", "-A")
    output = run("commit", "-m", "second")
    (folder / "c.txt").write_text("c")
    run("add", "-A")
    output += "noise\n" + run("commit", "-m", "third")
    assert names(git.committed_files(str(folder), output, time.time()), folder) == ["b.txt", "c.txt"]


def test_a_quiet_commit_is_the_newest_one(shop):
    folder, _run = shop
    assert names(git.committed_files(str(folder), "", time.time()), folder) == ["a.txt"]


def test_an_old_commit_is_not_the_one_that_was_just_made(shop):
    folder, _run = shop
    assert git.committed_files(str(folder), "", time.time() + 3_600) is None


def test_from_a_subfolder_the_paths_are_absolute(shop):
    folder, run = shop
    (folder / "src").mkdir()
    (folder / "src/d.txt").write_text("d")
    run("add", "-A")
    run("commit", "-qm", "fourth")
    assert names(git.committed_files(str(folder / "src"), "", time.time()), folder) == ["src/d.txt"]


def test_where_git_cannot_say_nothing_is_said(tmp_path):
    assert git.committed_files(str(tmp_path), "[main 1234abc] x", time.time()) is None
    assert git.committed_files(str(tmp_path / "none"), "", time.time()) is None
    assert git.committed_files("\0", "", time.time()) is None


@pytest.mark.parametrize(
    ("output", "hashes"),
    [
        ("[main 1a2b3c4] fix\n 1 file changed", ["1a2b3c4"]),
        ("[main (root-commit) 1a2b3c4] first", ["1a2b3c4"]),
        ("[feature/x 1a2b3c4] fix [again]", ["1a2b3c4"]),
        ("[detached HEAD 1a2b3c4] fix", ["1a2b3c4"]),
        ("[INFO] built\n[1/4] step", []),
        ("", []),
    ],
)
def test_hashes_are_read_from_what_git_prints(output, hashes):
    assert git.commit_hashes(output) == hashes
