"""Files of a project are read inside its folder only, and only what is text without secrets."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.context.project_files import MOST_BYTES, ProjectFiles
from tests.examples import examples

# In two halves: a scanner of this repository would take it for a real one.
TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside a file that is none of its own."""
    (tmp_path / "outside.py").write_text("outside = True\n")
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def price(basket):\n    return sum(basket)\n")
    return folder


def test_a_file_is_read_by_its_relative_and_by_its_absolute_path(project):
    files = ProjectFiles(str(project))
    relative = files.read("src/a.py")
    assert relative is not None
    assert (relative.path, relative.text, relative.outline) == ("src/a.py", "def price(basket):\n    return sum(basket)\n", "")
    assert files.read(f"{project}/src/a.py") == relative
    assert files.read("./src//../src/a.py") == relative


def test_an_outline_comes_where_it_is_asked_for(project):
    pytest.importorskip("ast_grep_py")
    files = ProjectFiles(str(project))
    for _ in range(2):
        assert files.read("src/a.py").outline == ""
        assert files.read("src/a.py", with_outline=True).outline == "1: def price(basket):"


@pytest.mark.parametrize("outline", ["", "1: def price(basket):"])
def test_an_outline_is_made_once_per_file_version_even_if_it_turns_out_empty(project, outline):
    """It lasts for as long as the file stays as it is."""
    asked: list[str] = []
    files = ProjectFiles(str(project), lambda text, path: asked.append(path) or outline)
    assert [files.read("src/a.py", with_outline=True).outline for _ in range(3)] == [outline] * 3
    assert asked == ["src/a.py"]
    (project / "src" / "a.py").write_text("changed = True\n")
    files.read("src/a.py", with_outline=True)
    assert asked == ["src/a.py"] * 2


def test_a_project_that_is_a_link_itself_is_read(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    files = ProjectFiles(f"{tmp_path}/link/")
    assert files.read("src/a.py") == files.read(f"{tmp_path}/link/src/a.py") == files.read(f"{project}/src/a.py") is not None


@pytest.mark.parametrize(
    "path",
    [
        "", ".", "..", "/", "src", "src/", "missing.py", "../outside.py", "src/../../outside.py", "/etc/hostname", "~/.profile",
        "src/a.py\0",
        "\ud800.py", "a" * 5_000, "src/a.py/b", "a" * 300, "//etc/passwd",
    ],
)  # fmt: skip
def test_paths_outside_the_project_and_non_files_are_not_read(project, path):
    assert ProjectFiles(str(project)).read(path) is None


def test_without_a_project_nothing_is_read():
    assert ProjectFiles("").read(__file__) is None


def test_no_link_leads_out(project, tmp_path):
    (project / "link.py").symlink_to(tmp_path / "outside.py")
    (project / "folder").symlink_to(tmp_path)
    (project / "chain.py").symlink_to("link.py")
    files = ProjectFiles(str(project))
    for path in ("link.py", "folder/outside.py", "chain.py", "folder/project/../outside.py"):
        assert files.read(path) is None


def test_a_link_that_stays_inside_is_followed(project):
    (project / "AGENTS.md").write_text("# Rules\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / "lib").symlink_to("src")
    files = ProjectFiles(str(project))
    assert files.read("CLAUDE.md") == files.read("AGENTS.md") is not None
    assert files.read("lib/a.py") == files.read("src/a.py") is not None


def test_a_link_to_what_holds_secrets_is_not_followed(project):
    (project / ".env").write_text("A=1\n")
    (project / "plain.txt").symlink_to(".env")
    assert ProjectFiles(str(project)).read("plain.txt") is None


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".env.local", ".ENV", "prod.env", "key.pem", "KEY.PEM", "id_rsa", "id_ed25519.bak", ".git/config", ".GIT/config",
        ".g\u200cit/config",
        ".git./config", "deep/.git/HEAD", ".ssh/config", ".aws/config", "secrets.yaml", "credentials.json", ".npmrc", "terraform.tfstate",
        "\uff0eenv", ".env~", ".env-prod", ".netrc~", ".pgpass.bak", ".npmrc.old", "secrets.yaml.orig", "key.pem.save", ".pypirc.bak~",
        ".env copy", "credentials (1).json", "key copy 2.pem", "#.env#", ".env_prod", ".envrc.local",
    ],
)  # fmt: skip
def test_files_that_hold_secrets_are_not_read(project, name):
    place = project / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a text\n")
    assert ProjectFiles(str(project)).read(name) is None


@pytest.mark.parametrize(
    "name",
    [
        ".env.example",
        ".env-example",
        ".env_example",
        "notes.bak",
        "src/secrets.py~",
        "src/secrets.py",
        "keys.ts",
        "id_rsa.pub",
        ".gitignore",
        ".github/workflows/a.yml",
        "environment.py",
    ],
)
def test_files_whose_names_only_resemble_those_of_secrets_are_read(project, name):
    place = project / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a text\n")
    assert ProjectFiles(str(project)).read(name) is not None


def test_secrets_in_a_file_are_masked(project):
    key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEabcdefg0123456789\n\nAbCdEf0123\n-----END RSA PRIVATE KEY-----"
    (project / "src" / "b.py").write_text(f'TOKEN = "{TOKEN}"\n\nKEY = """{key}"""\n\nprice = 3\n')
    text = ProjectFiles(str(project)).read("src/b.py").text
    assert TOKEN not in text
    assert "MIIE" not in text
    assert "AbCdEf" not in text
    assert "price = 3" in text


@pytest.mark.parametrize("data", [b"a\0b", b"\x89PNG\r\n\x1a\n\xff\xfe\xfd" * 9, b"x" * (MOST_BYTES + 1), bytes(range(128, 256)) * 9])
def test_files_that_are_not_text_or_too_large_are_not_read(project, data):
    (project / "data").write_bytes(data)
    assert ProjectFiles(str(project)).read("data") is None


def test_a_mark_of_the_encoding_and_ends_of_lines_of_windows_are_left_out(project):
    (project / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert ProjectFiles(str(project)).read("a.txt").text == "one\ntwo\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_read_and_keeps_nobody_waiting(project, kind):
    place = project / "thing.py"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    assert ProjectFiles(str(project)).read("thing.py") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_not_there(project):
    (project / "src" / "a.py").chmod(0)
    assert ProjectFiles(str(project)).read("src/a.py") is None


def test_a_changed_file_is_read_again_with_another_stamp(project):
    files = ProjectFiles(str(project))
    before = files.read("src/a.py")
    assert files.read("src/a.py") is not None
    (project / "src" / "a.py").write_text("changed = True\n")
    after = files.read("src/a.py")
    assert after.text == "changed = True\n"
    assert after.stamp != before.stamp
    (project / "src" / "a.py").unlink()
    assert files.read("src/a.py") is None


def test_a_folder_that_becomes_a_link_while_files_are_read_leads_nowhere(project, tmp_path, count):
    """Somebody swaps the folder for a link out of the project, over and over."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.py").write_text("leaked = True\n")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (project / "src").rename(project / "kept")
            (project / "src").symlink_to(elsewhere)
            (project / "src").unlink()
            (project / "kept").rename(project / "src")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(count(2_000, 50_000)):
            file = ProjectFiles(str(project)).read("src/a.py")
            assert file is None or "leaked" not in file.text
    finally:
        stop.set()
        swapping.join()


PARTS = st.sampled_from(["..", ".", "", "src", "a.py", "/", "~", "link", "outside.py", "project", "\0", "\ud800", "é", " "])


@settings(max_examples=examples(50, 3_000), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(PARTS, max_size=8).map("/".join), st.booleans())
def test_no_path_leads_out(project, path, is_absolute):
    if not (project / "link").is_symlink():
        (project / "link").symlink_to("..")
    file = ProjectFiles(str(project)).read(f"{project}/{path}" if is_absolute else path)
    assert file is None or "outside" not in file.text
