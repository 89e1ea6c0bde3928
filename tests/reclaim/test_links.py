"""Transcripts and folders of ours behind symbolic links: read where that leads to a file, and never written through."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reclaim.shops import SESSION, Shop, worked


@pytest.fixture
def outside(shop: Shop, tmp_path: Path) -> Path:
    """The transcript, moved elsewhere; a link stands in its place."""
    shop.write(worked(str(shop.project)))
    real = tmp_path / "elsewhere.jsonl"
    shop.transcript.rename(real)
    shop.transcript.symlink_to(real)
    return real


@pytest.mark.parametrize("words", [["clear"], ["clear", "--now"], ["undo"], ["restore", "T1", "--in-place"]], ids=" ".join)
def test_no_change_is_written_through_a_link(shop: Shop, outside: Path, words: list[str]):
    before = outside.read_bytes()
    done = shop.popkit("context", *words, "--transcript", str(shop.transcript))
    assert done.code == 1
    assert done.out + done.err
    assert "Traceback" not in done.err
    assert outside.read_bytes() == before
    assert shop.transcript.is_symlink()


@pytest.mark.parametrize("words", [["retention"], ["timeline"], ["stats"], ["why", "1"]], ids=" ".join)
def test_what_a_link_leads_to_is_told_of(shop: Shop, outside: Path, words: list[str]):
    done = shop.popkit("context", *words, "--session", SESSION)
    assert (done.code, outside.exists()) == (0, True), done


@pytest.mark.parametrize("target", ["loop", "nothing", "folder", "device"])
def test_a_link_that_leads_to_no_file_is_told_and_keeps_nobody(shop: Shop, tmp_path: Path, target: str):
    shop.transcript.unlink(missing_ok=True)
    shop.transcript.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "folder").mkdir()
    leads = {"loop": shop.transcript, "nothing": tmp_path / "gone", "folder": tmp_path / "folder", "device": Path("/dev/zero")}
    shop.transcript.symlink_to(leads[target])
    for words in (["context", "retention"], ["context", "clear"], ["uninstall", "--dry-run"]):
        more = ["--transcript", str(shop.transcript)] if words[0] != "uninstall" else []
        done = shop.popkit(*words, *more)
        assert "Traceback" not in done.err, done
        assert done.code == (0 if words[0] == "uninstall" else 1), (words, done)


def test_a_sessions_folder_that_is_a_link_is_not_written_through(shop: Shop, tmp_path: Path):
    shop.write(worked(str(shop.project)))
    elsewhere = tmp_path / "theirs"
    elsewhere.mkdir()
    shop.home.mkdir(parents=True, exist_ok=True)
    (shop.home / "sessions").mkdir(exist_ok=True)
    (shop.home / "sessions" / SESSION).symlink_to(elsewhere)
    done = shop.popkit("context", "clear", "--transcript", str(shop.transcript))
    assert "Traceback" not in done.err
    assert list(elsewhere.iterdir()) == []
