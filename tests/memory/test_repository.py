"""Worktrees and clones of one repository are one project; whatever stands on the disk, an answer comes."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from popkit_retention.core.io import repository


def git(folder, *arguments: str) -> None:
    identity = "-c user.name=dev -c user.email=dev@example.invalid -c commit.gpgsign=false -c init.defaultBranch=main".split()
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "src" / "a.txt").write_text("a")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def test_a_folder_within_is_of_the_repository_around_it(shop):
    found = repository.of(str(shop / "src" / "deep"))
    assert (found.key, found.root, found.name) == (repository.of(str(shop)).key, str(shop), "shop")


def test_a_worktree_is_one_project_with_its_repository_and_has_its_own_top(shop, tmp_path):
    git(shop, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    found = repository.of(str(tmp_path / "elsewhere" / "src"))
    assert found.key == repository.of(str(shop)).key
    assert found.root == str(tmp_path / "elsewhere")


def test_a_worktree_of_claude_code_that_is_gone_is_still_known_by_its_path(shop):
    folder = shop / ".claude" / "worktrees" / "brave-turing"
    git(shop, "worktree", "add", "-q", str(folder))
    there = repository.of(str(folder / "src"))
    git(shop, "worktree", "remove", "--force", str(folder))
    gone = repository.of(str(folder / "src"))
    assert there.key == gone.key == repository.of(str(shop)).key
    assert there.root == gone.root == str(folder)


def test_a_clone_of_a_folder_is_one_project_with_it(shop, tmp_path):
    git(tmp_path, "clone", "-q", str(shop), "copy")
    git(tmp_path, "clone", "-q", "copy", "copy of a copy")
    keys = {repository.of(str(folder)).key for folder in (shop, tmp_path / "copy", tmp_path / "copy of a copy")}
    assert len(keys) == 1


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/Acme/Shop.git", "https://github.com/acme/shop", "git@github.com:acme/shop.git", "ssh://git@github.com:22/acme/shop/",
        "https://dev:token@github.com/acme/shop.git",
    ],
)  # fmt: skip
def test_clones_of_one_address_are_one_project_however_it_is_written(shop, tmp_path, address):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "remote", "add", "origin", "https://github.com/acme/shop.git")
    git(shop, "remote", "add", "upstream", "https://github.com/somebody/else.git")
    git(shop, "remote", "add", "origin", address)
    found = repository.of(str(shop))
    assert (found.key, found.name) == (repository.of(str(other)).key, "shop")
    assert "token" not in found.key + found.name


def test_repositories_of_one_name_are_told_apart(tmp_path):
    for owner in ("a", "b"):
        (tmp_path / owner / "shop").mkdir(parents=True)
        git(tmp_path / owner / "shop", "init", "-q")
    assert repository.of(str(tmp_path / "a/shop")).key != repository.of(str(tmp_path / "b/shop")).key


def test_a_submodule_is_a_project_of_its_own(shop, tmp_path):
    git(tmp_path, "clone", "-q", str(shop), "library")
    git(tmp_path / "library", "remote", "set-url", "origin", "https://example.com/library.git")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "library"), "vendor")
    assert repository.of(str(shop / "vendor")).key != repository.of(str(shop)).key
    assert repository.of(str(shop / "vendor")).root == str(shop / "vendor")


def test_without_a_repository_the_folder_is_the_project_however_it_is_reached(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert repository.of(str(tmp_path / "notes")).key == repository.of(str(tmp_path / "link")).key
    assert repository.of(str(tmp_path / "notes")).root == str(tmp_path / "notes")


@pytest.mark.parametrize(
    ("one", "other", "root", "name"),
    [
        (r"D:\shop\.claude\worktrees\calm-hopper\src", r"D:\shop", "D:/shop/.claude/worktrees/calm-hopper", "shop"),
        (r"d:\shop", "D:/shop", "D:/shop", "shop"),
        ("/u/conductor/workspaces/shop/lima/src", "/u/conductor/workspaces/shop/oslo", "/u/conductor/workspaces/shop/lima", "shop"),
        ("/u/.claude-worktrees/shop/x", "/u/.claude-worktrees/shop/y/src", "/u/.claude-worktrees/shop/x", "shop"),
        ("/u/shop/.worktrees/fix/a", "/u/shop", "/u/shop/.worktrees/fix", "shop"),
    ],
)
def test_of_folders_that_are_gone_the_path_tells(one, other, root, name):
    found = repository.of(one)
    assert (found.key, found.root, found.name) == (repository.of(other).key, root, name)


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("/u/shop/src/a.py", "/u/shop", "src/a.py"),
        ("/u/shop", "/u/shop", ""),
        ("/u/shopping/a.py", "/u/shop", None),
        ("/u/shop/.claude/worktrees/x/src/a.py", "/u/shop", "src/a.py"),
        ("/u/shop/src/a.py", "/u/shop/.claude/worktrees/x", "src/a.py"),
        ("/u/conductor/workspaces/shop/oslo/a.py", "/u/conductor/workspaces/shop/lima", "a.py"),
        (r"d:\shop\src\a.py", "D:/shop", "src/a.py"),
        ("/etc/passwd", "/u/shop", None),
    ],
)
def test_a_path_is_named_from_the_top_of_its_checkout(path, root, inside):
    assert repository.within(path, root) == inside


def _fifo(path):
    os.mkfifo(path)


def _loop(path):
    path.symlink_to(path)


def _leads_nowhere(path):
    path.write_text("gitdir: /nowhere/at/all\n")


def _binary(path):
    path.write_bytes(bytes(range(256)) * 100)


def _huge(path):
    path.mkdir()
    (path / "config").write_text('[remote "origin"]\n' + "\tfetch = x\n" * 200_000 + "\turl = https://example.com/late.git\n")


def _leads_to_itself(path):
    path.mkdir()
    (path / "config").write_text(f'[remote "origin"]\n\turl = {path.parent}\n')


def _forbidden_config(path):
    path.mkdir()
    (path / "config").mkdir()


@pytest.mark.parametrize("make", [_fifo, _loop, _leads_nowhere, _binary, _huge, _leads_to_itself, _forbidden_config])
def test_whatever_is_in_place_of_a_repository_the_folder_is_a_project(tmp_path, make):
    (tmp_path / "shop").mkdir()
    make(tmp_path / "shop" / ".git")
    found = repository.of(str(tmp_path / "shop"))
    assert (found.root, found.name) == (str(tmp_path / "shop"), "shop")


@given(st.text(max_size=300))
@example("")
@example("/")
@example("\0")
@example("x" * 100_000)
@example("/../../etc/\n\u202e.git")
def test_a_key_is_a_file_name_whatever_the_folder_is_called(folder):
    found = repository.of(folder)
    assert found.key.isascii()
    assert found.key.replace("-", "").isalnum()
    assert len(found.key) <= 64
    assert found.name.isprintable()
    assert repository.of(folder).key == found.key


@pytest.mark.bench
def test_it_costs_a_session_no_more_than_a_moment(shop):
    began = time.perf_counter()
    for _ in range(100):
        repository.of(str(shop / "src" / "deep"))
    assert time.perf_counter() - began < 0.1
