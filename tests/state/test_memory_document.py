"""The MEMORY.md of a project: what a session gets of it, and where it is written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from popkit_retention.core.io.repository import Repository
from popkit_retention.core.state import memory
from popkit_retention.core.state.memory_checkouts import CheckoutNotJoined
from popkit_retention.core.state.memory_records import PATH, Entry, Fact

TEXT = "# Memory\n\n- src/: app.py"
# As many tokens as a session may get.
LARGEST = "word " * 1_080


@pytest.fixture
def project(tmp_path: Path) -> memory.Project:
    """A project whose memory is on, with no document."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    project = memory.project_of(str(tmp_path / "popkit"), str(tmp_path / "shop"))
    project.turn_on(1.0)
    return project


def test_the_entries_of_a_document_come_back_with_it_alone(project: memory.Project) -> None:
    entries = [Entry(PATH, "app.py", "src", [Fact("src/app.py", "", "", "")])]
    project.write_document(TEXT, entries)
    assert project.document() == TEXT
    assert project.entries_of(TEXT)[0]
    assert not project.entries_of(TEXT + " and more")[0]


def test_entries_that_are_larger_than_any_of_ours_are_not_read(project: memory.Project) -> None:
    project.write_document(TEXT)
    path = Path(project.folder) / memory.ENTRIES
    written = path.read_text()
    path.write_text(written.rjust(1 << 20))
    assert project.entries_of(TEXT)[0] is not None
    path.write_text(written.rjust((1 << 20) + 1))
    assert project.entries_of(TEXT) == (None, None)


def test_a_document_of_one_byte_too_many_is_given_to_nobody(project: memory.Project) -> None:
    Path(project.document_path).write_text("x".ljust(25_000))
    assert project.document() == "x"
    Path(project.document_path).write_text("x".ljust(25_001))
    with pytest.raises(memory.MemoryTooLarge):
        project.document()


def test_nothing_is_written_through_a_link_in_the_place_of_the_folder(project: memory.Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    Path(project.folder).rename(elsewhere)
    Path(project.folder).symlink_to(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    with pytest.raises(OSError, match="link"):
        project.write_document(TEXT)
    with pytest.raises(OSError, match="link"):
        project.turn_off(2.0)
    assert sorted(path.name for path in elsewhere.iterdir()) == before


def test_entries_come_back_with_the_stamps_of_their_files_in_their_own_checkout(project: memory.Project, tmp_path: Path) -> None:
    old = (1_000_000.0, 1_000_000.0)
    (tmp_path / "shop" / "app.py").write_text("x = 1\n")
    os.utime(tmp_path / "shop" / "app.py", old)
    project.write_document(TEXT, [Entry(PATH, "app.py", "", [Fact("app.py", "x = 1", "", "")])])
    path = Path(project.folder) / memory.ENTRIES
    written = json.loads(path.read_text())
    assert written["checked"] == {"root": str(tmp_path / "shop"), "stamps": {}}, "the file has just been made"
    assert written["entries"] == [[PATH, "app.py", "", False, [["app.py", "x = 1", "", ""]]]]
    stamps = {"app.py": [1, 2, 3]}
    for root, found in ((written["checked"]["root"], stamps), ("/elsewhere", None), (None, None)):
        path.write_text(json.dumps({**written, "checked": {"root": root, "stamps": stamps}}))
        assert project.entries_of(f"\n{TEXT}\n") == (written["entries"], found)
    for odd in ("[]", "{", json.dumps({**written, "checked": 7}), json.dumps({**written, "text": 7})):
        path.write_text(odd)
        assert project.entries_of(TEXT)[1] is None
        assert (project.entries_of(TEXT)[0] is None) == ('"checked": 7' not in odd)


def test_what_is_written_is_the_user_s_alone_and_goes_with_the_document(project: memory.Project) -> None:
    project.write_document(TEXT)
    names = ["MEMORY.md", "entries.json", "settings.json"]
    assert (project.folder.split("/")[-2], memory.STORE, Path(project.lock_path).name) == ("memory", "memory.sqlite", "learning.lock")
    assert sorted(path.name for path in Path(project.folder).iterdir()) == sorted(names)
    for name in names:
        assert stat.S_IMODE((Path(project.folder) / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(project.folder).stat().st_mode) == 0o700
    Path(project.document_path).chmod(0o644)
    assert project.document() == TEXT
    assert stat.S_IMODE(Path(project.document_path).stat().st_mode) == 0o600, "it is made private where it is read"
    project.write_document("")
    assert [path.name for path in Path(project.folder).iterdir()] == [memory.SETTINGS]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_no_document_is_read_through_anything_but_a_file(project: memory.Project, tmp_path: Path, kind: str) -> None:
    path = Path(project.document_path)
    if kind == "link":
        (tmp_path / "other").write_text("secret")
        path.symlink_to(tmp_path / "other")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(OSError):  # noqa: PT011  which one, the system says
        project.document()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("\n".join(["a"] * 200), True), ("\n".join(["a"] * 201), False), ("\n" * 300 + "a" + "\n" * 300, True),
        ("x" * 25_000, False), (LARGEST, True), (LARGEST + "wo", False),
    ],
)  # fmt: skip
def test_a_document_that_the_host_would_cut_is_given_to_nobody(project: memory.Project, text: str, fits: bool) -> None:
    Path(project.document_path).write_text(text)
    if fits:
        assert project.document() == text.strip()
        return
    with pytest.raises(memory.MemoryTooLarge, match="popkit memory admin file --tokens 500") as raised:
        project.document()
    assert (raised.value.errno, raised.value.filename) == (27, project.document_path)


def test_what_a_checkout_calls_itself_writes_nothing_on_a_terminal() -> None:
    asked = str(CheckoutNotJoined(Repository("k", "/a\x1b[2J", "sh\x07op"), "/b\n"))
    assert asked.startswith("/a?[2J says that it is a checkout of sh?op, whose memory was switched on in /b?. ")


# --- settings and notes ----------------------------------------------------------------------------------------------------------------


def test_settings_that_were_damaged_say_how_they_are_mended(project: memory.Project) -> None:
    path = Path(project.folder) / memory.SETTINGS
    for text in ("[]", "{", "7"):
        path.write_text(text)
        with pytest.raises(memory.SettingsCorrupt, match="popkit memory on") as raised:
            project.settings()
        assert (raised.value.errno, raised.value.filename) == (22, str(path))
    path.write_text("")
    assert project.settings() == {}
    for length, settings in ((64 * 1024, {"on": True}), (64 * 1024 + 1, None)):
        path.write_text('{"on": true}'.rjust(length))
        if settings is None:
            with pytest.raises(memory.SettingsCorrupt):
                project.settings()
        else:
            assert project.settings() == settings


def test_what_was_noted_of_a_project_outlives_its_switch(project: memory.Project) -> None:
    path = Path(project.folder) / memory.SETTINGS
    path.write_text(json.dumps({**project.settings(), "name": "shop", "asked": ["/x"]}))
    before = project.settings()
    assert (before["on"], before["since"]) == (True, 1.0)
    assert project.turn_off(5.0)
    assert project.settings() == {**before, "on": False, "since": 5.0}
    assert not project.turn_off(6.0)
    assert project.settings()["since"] == 5.0
    assert project.turn_on(7.0)
    assert project.settings() == {**before, "since": 7.0}


def test_no_more_than_a_hundred_checkouts_are_asked_about(tmp_path: Path, project: memory.Project) -> None:
    others = [memory.Project(str(tmp_path / "popkit"), Repository(project.repository.key, f"/x/{n}", "shop")) for n in range(101)]
    for other in others:
        assert other.asks() == str(CheckoutNotJoined(other.repository, str(tmp_path / "shop")))
    asked = project.settings()[memory.ASKED]
    assert (len(asked), asked[0], asked[-1]) == (100, "/x/1", "/x/100")
    assert others[-1].asks() == others[5].asks() == project.asks() == ""
    assert others[0].asks(), "the oldest is forgotten"


def test_a_session_that_ended_is_to_be_learnt_until_it_is(project: memory.Project) -> None:
    for session, transcript, at in (("s/2", "/t/2", 9), ("s1", "/t/1", 8.5), ("s3", "/t/3", 10.0)):
        project.note_ended(session, transcript, at)
    folder = Path(project.folder)
    notes = sorted(folder.glob("ended-*.json"))
    assert json.loads((folder / "ended-s1.json").read_text()) == {"session": "s1", "transcript": "/t/1", "at": 8.5}
    assert len(notes) == 3
    for name, text in (("ended-x.txt", "{}"), ("other.json", "{}"), ("ended-y.json", '{"transcript": "/t/y"}'), ("ended-z.json", "3")):
        (folder / name).write_text(text)
    assert project.to_learn() == ["/t/1", "/t/2", "/t/3"]
    project.remove_note("/t/2")
    assert project.to_learn() == ["/t/1", "/t/3"]
    left = {path.name for path in folder.iterdir()} - {memory.SETTINGS}
    assert left == {"ended-s1.json", "ended-s3.json", "ended-x.txt", "other.json"}, "what is no note goes with any"


def test_without_a_folder_nothing_is_to_be_learnt(tmp_path: Path) -> None:
    project = memory.Project(str(tmp_path), Repository("shop-1", "/shop", "shop"))
    assert (project.to_learn(), project.document(), project.entries_of(""), project.settings()) == ([], "", (None, None), {})
    project.remove_note("/t/1")
    project.write_document("")
    assert [path.name for path in (tmp_path / "memory" / "shop-1").iterdir()] == []


def test_a_folder_that_is_gone_belongs_to_the_project_that_has_noted_it(tmp_path: Path, project: memory.Project) -> None:
    home = str(tmp_path / "popkit")
    broken = Path(home, memory.FOLDER, "a-broken")
    broken.mkdir()
    (broken / memory.SETTINGS).write_text("[")
    memory.Project(home, Repository(project.repository.key, "/gone/shop", "shop")).note_checkout()
    memory.Project(home, Repository(project.repository.key, "/", "shop")).note_checkout()
    path = Path(project.folder) / memory.SETTINGS
    settings = {**project.settings(), "name": "the shop"}
    for checkouts, folder, known in (
        (["/gone/shop"], "/gone/shop", True), (["/gone/shop/"], "/gone/shop/src", True), (["/gone/shop"], "/gone/shops", False),
        (["/gone/shop/src"], "/gone/shop", False), ([7], "/gone/shop", False), ([""], "/gone/shop", False),
    ):  # fmt: skip
        path.write_text(json.dumps({**settings, memory.CHECKOUTS: checkouts}))
        found = memory.project_of(home, folder).repository
        assert (found.key == project.repository.key) == known, folder
        if known:
            assert (found.root, found.name, found.claimed_by) == (checkouts[0], "the shop", str(tmp_path / "shop"))
    path.write_text(json.dumps({**settings, "name": "", memory.CHECKOUTS: ["/gone/shop"]}))
    assert memory.project_of(home, "/gone/shop").repository.name == "shop"


def test_a_checkout_that_is_kept_apart_has_a_memory_of_its_own(tmp_path: Path) -> None:
    home = str(tmp_path / "popkit")
    for name in ("mine", "other"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example/shop.git\n')
    mine, other = (memory.project_of(home, str(tmp_path / name)) for name in ("mine", "other"))
    mine.turn_on(1.0)
    assert mine.repository.key == other.repository.key
    with pytest.raises(CheckoutNotJoined):
        other.check_joined()
    with pytest.raises(CheckoutNotJoined):
        other.turn_off(2.0)
    other.decide(False)
    apart = memory.project_of(home, str(tmp_path / "other"))
    assert (other.is_apart(), apart.repository.key != mine.repository.key, apart.is_on()) == (True, True, False)
    assert memory.project_of(home, str(tmp_path / "other"), claimed=True).repository.key == mine.repository.key
    assert (memory.project_of(home, str(tmp_path / "mine")).repository.key, mine.is_apart()) == (mine.repository.key, False)
    other.decide(True)
    other.decide(True)
    assert (mine.settings()["joined"], mine.settings()["apart"], other.is_on()) == ([str(tmp_path / "other")], [], True)
    Path(mine.folder, memory.SETTINGS).write_text("[")
    assert memory.project_of(home, str(tmp_path / "other")).repository.key == mine.repository.key, "who uses it is told what is wrong"
