"""`popkit uninstall` deletes what PopKit has made, and nothing else, wherever POPKIT_HOME is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.governed import Governed
from tests.cli.played import SESSION, Played

# What others may keep in a folder that PopKit was given: names like ours, and files in folders that are called as ours are.
FOREIGN = (
    "projects/my-code/main.py", "projects/-home-dev/session.jsonl", "projects-old/x", "sessions/foreign/deep/y", "sessions/foreign/z",
    f"sessions/{SESSION}/mine.txt", "sessions/123.json", "cache/pip/w", "cache/mine", "packages.json", "packs/a", "archive.sqlite.bak",
    "interpreters", "swept-floors.txt", "statusline.py", "doctor.json.mine", "retention-config.json", "venv/pyvenv.cfg",
    "data/set.csv", "data/state/mine.json", "data/state/deep/retention.lock", "data/archive/2019.zip", "data/archive/rag/contents",
    "data/archive/rag-20261122T233000Z-k3f9a2/mine.txt", "data/archive/contents", "data/other/retention-policies.json",
    "memory/MEMORY.md", "memory/notes/MEMORY.md", "memory/mine.sqlite", "memory/shop-0123456789ab/notes.md", "memory/backups/mine.jsonl",
)  # fmt: skip


def lay(folder: Path, names: tuple) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("precious")


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_what_others_keep_beside_it_stays(played: Played) -> None:
    played.hook("session-start", hook_event_name="SessionStart", source="startup")
    assert (played.home / "sessions" / SESSION / "session.json").exists()
    lay(played.home, FOREIGN)
    elsewhere = played.user / "elsewhere"
    lay(elsewhere, ("main.state.json", f"{SESSION}/session.json"))
    (played.home / "sessions" / "linked").symlink_to(elsewhere)
    done = played.popkit("uninstall", "--yes")
    assert done.returncode == 0, done
    assert files_of(played.home) == {*FOREIGN, "sessions/linked"}
    assert len(files_of(elsewhere)) == 2
    assert "Left in" in done.stdout


def test_the_hosts_own_folder_as_ours_keeps_its_transcripts(played: Played) -> None:
    environ = {"POPKIT_HOME": str(played.claude)}
    played.env.update(environ)
    lay(played.claude, ("settings.json", "projects/-shop/a.jsonl", "sessions/7.json"))
    before = files_of(played.claude)
    (played.claude / "settings.json").write_text("{}")
    played.hook("session-start", hook_event_name="SessionStart", source="startup")
    assert played.popkit("uninstall", "--yes").returncode == 0
    assert files_of(played.claude) == before


def test_everything_that_popkit_makes_goes(played: Played) -> None:
    ours = (
        "archive.sqlite", "archive.sqlite-journal", "need-model.json", "doctor.json", "hooks.log", "hooks.log.old", "hooks.log.lock",
        "interpreter", "interpreter.4711", "past.jsonl", "statusline.sh", "statusline.previous.json", "swept", "swept.4711.tmp",
        "opencode.previous.json",
        "venv.lock", "venv/pyvenv.cfg", "venv/lib/site-packages/x.py", "cache/config-a.json", "projects/x/need-model.json",
        "sessions/a/main.state.json", "sessions/a/main.state.json.corrupt", "sessions/a/agent-b.journal.jsonl", "sessions/a/clear.lock",
        "sessions/a/main.receipts.jsonl", "sessions/a/warming.lock",
        "sessions/a/session.json.lock", "sessions/a/original.jsonl", "sessions/.swept-b/main.expired.jsonl",
        "memory.sqlite", "memory.sqlite-wal", "memory/job.lock", "memory/backups/archive-1790000000.jsonl",
        "memory/shop-0123456789ab/MEMORY.md", "memory/shop-0123456789ab/MEMORY.md.4711.tmp", "memory/shop-0123456789ab/settings.json",
        "memory/shop-0123456789ab/alerts.json", "memory/shop-0123456789ab/ended-a.json",
        "data/state/retention-policies.json.tmp-4711-1790000000", "data/state/retention.lock", "data/state/retention-hourly.json",
        "data/state/marked.json", "data/state/marked.json.lock", "data/state/marked.json.4711.tmp",
        "data/archive/rag-20261122T233000Z-k3f9a2/manifest.json", "data/archive/rag-20261122T233000Z-k3f9a2/contents",
        "data/archive/.new-memory-20261122T233000Z-k3f9a2/contents",
    )  # fmt: skip
    lay(played.home, tuple(name for name in ours if name != "archive.sqlite"))
    (played.home / "venv" / "lib64").symlink_to("lib")
    done = played.popkit("uninstall", "--yes")
    assert done.returncode == 0, done
    assert not played.home.exists()


def test_a_dry_run_deletes_nothing_says_so_and_names_a_way_to_keep_what_sessions_taught(played: Played) -> None:
    lay(played.home, ("memory.sqlite",))
    done = played.popkit("uninstall", "--dry-run")
    assert done.returncode == 0, done
    assert "To keep what sessions taught:\n  popkit memory export --all FILE\n" in done.stdout
    assert done.stdout.endswith("This was a dry run: nothing was deleted.\n")
    assert (played.home / "memory.sqlite").exists()


def test_it_says_which_archives_and_holds_would_be_lost(tmp_path: Path) -> None:
    house = Governed(tmp_path)
    house.add("run make check")
    (id,) = house.items()
    house.retention("hold", "add", id, "--why", "audit", "--who", "alice")
    house.retention("archive", id)
    shown = house.popkit("uninstall", "--dry-run").stdout
    assert "1 hold in force: somebody wants this to stay" in shown
    assert "alice: audit" in shown
    assert f"  {house.home}/data/archive\n" in shown
    assert "archives of popkit retention " in " ".join(shown.split())
    assert house.popkit("uninstall", "--yes").returncode == 0
    assert not house.home.exists()


def test_a_folder_that_is_a_link_is_not_followed(played: Played) -> None:
    elsewhere = played.user / "elsewhere"
    lay(elsewhere, ("state/retention-policies.json", "archive/rag-20261122T233000Z-k3f9a2/contents", "swept"))
    played.home.mkdir(parents=True)
    for name in ("data", "sessions"):
        (played.home / name).symlink_to(elsewhere)
    assert played.popkit("uninstall", "--yes").returncode == 0
    assert len(files_of(elsewhere)) == 3
