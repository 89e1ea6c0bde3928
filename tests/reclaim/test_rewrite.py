"""A rewrite changes the bytes that it was told to and no others, keeps the original, and does nothing where it cannot do all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.utils.reclaim import rewrite
from tests.kit.disks import IS_ROOT, read_only, small_disk
from tests.kit.forks import Forks, Function
from tests.reclaim import transcripts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cleared(transcript: Path) -> bytes:
    """What it becomes."""
    data = transcript.read_bytes()
    return transcripts.edited(data, transcripts.clearing(data))


def _assert_unchanged(transcript: Path, before: bytes, others: tuple[str, ...] = ()) -> None:
    assert transcript.read_bytes() == before
    assert transcripts.names(transcript.parent) == sorted([transcript.name, *others])


# --- what it does --------------------------------------------------------------------------------------------------------------


@st.composite
def files(draw):
    """A file's bytes, how much of it was seen, and edits of that."""
    lines = draw(st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"")), min_size=1, max_size=8))
    data = b"".join(line + b"\n" for line in lines) * draw(st.sampled_from([1, 1, 1, 30_000]))
    seen = data.rfind(b"\n", 0, draw(st.integers(1, len(data)))) + 1
    cuts = sorted(draw(st.lists(st.integers(0, seen), max_size=8)))
    pairs = zip(cuts[::2], cuts[1::2])
    return data, seen, [transcripts.edit(data, start, end, draw(st.binary(max_size=30))) for start, end in pairs]


@given(files())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_all_but_the_edited_bytes_stays_as_it_is(tmp_path: Path, file):
    data, size, edits = file
    path, keep = tmp_path / "any.jsonl", tmp_path / "any.original"
    path.write_bytes(data)
    rewritten = rewrite.rewrite(str(path), edits, transcripts.seen(path, size), str(keep))
    assert path.read_bytes() == transcripts.edited(data, edits)
    assert keep.read_bytes() == data
    assert transcripts.names(tmp_path) == ["any.jsonl", "any.original"]
    assert (rewritten.bytes_before, rewritten.bytes_after) == (len(data), path.stat().st_size)
    assert (rewritten.tail_bytes, rewritten.late_bytes) == (len(data) - size, 0)


def test_what_was_appended_since_it_was_seen_is_there(transcript: Path, cleared: bytes):
    edits, seen = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript)
    tail = transcripts.lines(4000)
    with transcript.open("ab") as file:
        file.write(tail)
    assert rewrite.rewrite(str(transcript), edits, seen).tail_bytes == len(tail)
    assert transcript.read_bytes() == cleared + tail


def test_an_unfinished_last_line_stays_as_it_is(transcript: Path, cleared: bytes):
    edits, seen = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript)
    with transcript.open("ab") as file:
        file.write(b'{"type":"us')
    os.utime(transcript, (time.time() - 60,) * 2)
    rewrite.rewrite(str(transcript), edits, seen)
    assert transcript.read_bytes() == cleared + b'{"type":"us'


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_stays_and_the_kept_original_is_private(transcript: Path, mode: int):
    transcript.chmod(mode)
    keep = transcript.with_name("original")
    transcripts.clear(transcript, keep)
    assert transcript.stat().st_mode & 0o777 == mode
    assert keep.stat().st_mode & 0o777 == 0o600


def test_the_owner_stays_where_root_rewrites(transcript: Path):
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    os.chown(transcript, 4711, 4712)
    transcripts.clear(transcript)
    assert (transcript.stat().st_uid, transcript.stat().st_gid) == (4711, 4712)


def test_the_original_file_itself_is_kept_in_place_of_an_older_one(transcript: Path):
    keep = transcript.with_name("original")
    keep.write_text("older")
    inode, before = transcript.stat().st_ino, transcript.read_bytes()
    transcripts.clear(transcript, keep)
    assert (keep.stat().st_ino, keep.read_bytes()) == (inode, before)
    assert transcript.stat().st_ino != inode


def test_an_original_that_is_another_name_of_the_transcript_already_stays_so(transcript: Path):
    keep = transcript.with_name("original")
    os.link(transcript, keep)
    before = transcript.read_bytes()
    transcripts.clear(transcript, keep)
    assert keep.read_bytes() == before != transcript.read_bytes()
    assert transcripts.names(transcript.parent) == ["original", "session.jsonl"]


def test_on_another_disk_the_original_is_copied(transcript: Path, cleared: bytes):
    memory = Path("/dev/shm")  # noqa: S108  a disk of its own, and in it a folder of our own
    if not memory.is_dir() or memory.stat().st_dev == transcript.stat().st_dev or not os.access(memory, os.W_OK):
        pytest.skip("no other disk here")
    folder = memory / f"popkit-test-{os.getpid()}"
    folder.mkdir()
    try:
        keep, before = folder / "original", transcript.read_bytes()
        for _ in range(2):
            transcript.write_bytes(before)
            transcripts.clear(transcript, keep)
            assert transcript.read_bytes() == cleared
            assert keep.read_bytes() == before
            assert keep.stat().st_mode & 0o777 == 0o600
            assert transcripts.names(folder) == ["original"]
    finally:
        shutil.rmtree(folder)


def test_the_folder_may_be_a_link_and_the_path_relative(transcript: Path, cleared: bytes, monkeypatch: pytest.MonkeyPatch):
    linked = transcript.parent / "projects"
    linked.symlink_to(".")
    before = transcript.read_bytes()
    transcripts.clear(linked / transcript.name)
    assert transcript.read_bytes() == cleared
    transcript.write_bytes(before)
    monkeypatch.chdir(transcript.parent)
    transcripts.clear(Path(transcript.name))
    assert transcript.read_bytes() == cleared


# --- what it refuses -----------------------------------------------------------------------------------------------------------


def test_edits_that_overlap_or_lead_out_of_what_was_seen_are_an_error_of_the_caller(transcript: Path):
    data = transcript.read_bytes()
    for cuts in ([(5, 9), (8, 12)], [(8, 12), (5, 7)], [(9, 5)], [(-1, 3)], [(0, len(data) + 1)]):
        edits = [rewrite.Edit(start, end, b"", "") for start, end in cuts]
        with pytest.raises(ValueError, match="sorted, disjoint"):
            rewrite.rewrite(str(transcript), edits, transcripts.seen(transcript))
    _assert_unchanged(transcript, data)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


STANDING = {
    "a symbolic link": (_link, "symbolic link"),
    "a pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "not a regular file"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "not a regular file"),
    "nothing": (lambda path: path.unlink(), "no such file"),
}


@pytest.mark.parametrize(("put", "reason"), STANDING.values(), ids=STANDING)
def test_only_a_regular_file_is_rewritten(transcript: Path, put, reason: str):
    edits, seen = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript)
    put(transcript)
    before = transcripts.names(transcript.parent)
    with pytest.raises(rewrite.RewriteFailed, match=reason + ".*nothing was changed"):
        rewrite.rewrite(str(transcript), edits, seen)
    assert transcripts.names(transcript.parent) == before


def test_a_transcript_that_was_replaced_is_not_touched(transcript: Path):
    edits, seen, data = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript), transcript.read_bytes()
    other = transcript.with_name("other")
    other.write_bytes(data)
    other.replace(transcript)
    with pytest.raises(rewrite.Changed, match="replaced in the meantime"):
        rewrite.rewrite(str(transcript), edits, seen)
    _assert_unchanged(transcript, data)


def test_a_transcript_that_became_shorter_is_not_touched(transcript: Path):
    edits, seen = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript)
    os.truncate(transcript, 100)
    with pytest.raises(rewrite.Changed):
        rewrite.rewrite(str(transcript), edits, seen)
    _assert_unchanged(transcript, transcripts.lines(30)[:100])


def test_other_bytes_than_were_seen_are_not_replaced(transcript: Path):
    edits, seen = transcripts.clearing(transcript.read_bytes()), transcripts.seen(transcript)
    data = bytearray(transcript.read_bytes())
    data[edits[4].start + 3] ^= 1
    with transcript.open("r+b") as file:
        file.write(data)
    keep = transcript.with_name("original")
    keep.write_text("older")
    with pytest.raises(rewrite.Changed, match="has changed since it was read"):
        rewrite.rewrite(str(transcript), edits, seen, str(keep))
    _assert_unchanged(transcript, bytes(data), ("original",))
    assert keep.read_text() == "older"


@pytest.mark.parametrize("keep", ["missing/original", "folder"])
def test_where_the_original_cannot_be_kept_nothing_changes(transcript: Path, keep: str):
    (transcript.parent / "folder").mkdir()
    before = transcript.read_bytes()
    with pytest.raises(rewrite.RewriteFailed, match="nothing was changed"):
        transcripts.clear(transcript, transcript.parent / keep)
    _assert_unchanged(transcript, before, ("folder",))


def test_where_there_is_no_room_nothing_changes(forks: Forks, transcript: Path):
    before = transcript.read_bytes()
    keep = transcript.with_name("original")
    keep.write_text("older")
    work = Function("tests.reclaim.transcripts:clear", [str(transcript), str(keep)])
    done = forks.run(work, {}, file_bytes=4_096)  # less than what the cleared transcript takes
    assert "RewriteFailed: " in done.err
    assert "the file would be larger than the system allows; nothing was changed" in done.err
    _assert_unchanged(transcript, before, ("original",))
    assert keep.read_text() == "older"


def test_on_a_full_disk_nothing_changes(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        transcript = disk / "session.jsonl"
        before = transcripts.lines(100)
        transcript.write_bytes(before)
        for keep in (None, disk / "original", tmp_path / "original"):
            with pytest.raises(rewrite.RewriteFailed, match="the disk is full; nothing was changed"):
                transcripts.clear(transcript, keep)
            _assert_unchanged(transcript, before)


def test_in_a_read_only_folder_nothing_changes(transcript: Path):
    before, reason = transcript.read_bytes(), "the disk is read-only" if IS_ROOT else "there is no permission"
    with read_only(transcript.parent):
        with pytest.raises(rewrite.RewriteFailed, match=reason + ".*nothing was changed"):
            transcripts.clear(transcript)
        _assert_unchanged(transcript, before)


# --- what killed ones leave ----------------------------------------------------------------------------------------------------


def test_what_killed_rewrites_left_is_swept_and_nothing_else(transcript: Path):
    folder, name = transcript.parent, transcript.name
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    ).stdout.strip()
    swept = [f"{name}.popkit-{dead}.tmp", f"{name}.popkit-1.tmp", f"{name}.popkit-{'9' * 30}.tmp"]
    stays = [
        f"{name}.popkit-{os.getpid()}.tmp", f"other-{name}.popkit-{dead}.tmp", f"{name}.popkit-{dead}.tmp.jsonl",
        f"{name}.popkit-x.tmp", f"{name}.popkit-.tmp", f"{name}.popkit-{dead}", name,
    ]  # fmt: skip
    for one in swept + stays:
        (folder / one).write_text("x")
    os.utime(folder / swept[1], (time.time() - 120,) * 2)
    rewrite.sweep(str(transcript))
    assert transcripts.names(folder) == sorted(stays)


def test_a_temporary_file_of_a_killed_process_with_our_number_is_no_obstacle(transcript: Path, cleared: bytes):
    left = transcript.with_name(f"{transcript.name}.popkit-{os.getpid()}.tmp")
    precious = transcript.with_name("precious")
    precious.write_text("precious")
    left.symlink_to(precious)
    transcripts.clear(transcript)
    assert transcript.read_bytes() == cleared
    assert precious.read_text() == "precious"
    assert not left.exists()


# --- what it costs -------------------------------------------------------------------------------------------------------------

MEASURED = """
import sys, time
from pathlib import Path
from hooks.utils.reclaim import rewrite
path, starts = Path(sys.argv[1]), range(0, int(sys.argv[2]), 1_000_000)
old_hash = rewrite.sha256(b"x" * 100_000).hexdigest()
with path.open("rb") as file:
    seen = rewrite.seen_of(file, path.stat().st_size)
began = time.perf_counter()
rewrite.rewrite(str(path), [rewrite.Edit(start, start + 100_000, b"y", old_hash) for start in starts], seen, sys.argv[1] + ".kept")
print(time.perf_counter() - began)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


def _measured(path: Path, megabytes: int) -> tuple[float, float]:
    """Seconds and megabytes that a rewrite takes which clears a tenth."""
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * 999_999 + b"\n")
        os.fsync(file.fileno())
    argv = [sys.executable, "-c", MEASURED, str(path), str(megabytes * 1_000_000)]
    out = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), int(out[1]) / 1024


@pytest.mark.slow
def test_200_mb_are_rewritten_in_30_mb_of_memory(tmp_path: Path):
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    seconds, megabytes = _measured(tmp_path / "session.jsonl", 200)
    print(f"{seconds:.2f} s, {megabytes:.0f} MB")
    assert megabytes < 30


@pytest.mark.bench
def test_a_rewrite_takes_little_longer_than_a_copy_that_is_on_disk(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    rewriting, copying = [], []
    for _ in range(5):
        rewriting.append(_measured(path, 50)[0])
        began = time.perf_counter()
        with path.open("rb") as old, (tmp_path / "copy").open("wb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            os.fsync(new.fileno())
        copying.append(time.perf_counter() - began)
    ratio = sorted(rewriting)[2] / sorted(copying)[2]
    print(f"rewrite {sorted(rewriting)[2]:.3f} s, copy {sorted(copying)[2]:.3f} s: {ratio:.1f}")
    assert ratio < 4


# --- a last line without its end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps", [True, False])
def test_what_the_host_appends_to_a_file_without_a_last_newline_begins_on_a_line_of_its_own(transcript: Path, keeps: bool):
    data = transcript.read_bytes().rstrip(b"\n")
    transcript.write_bytes(data)
    keep = transcript.with_suffix(".original")
    edits = transcripts.clearing(data)
    rewrite.rewrite(str(transcript), edits, transcripts.seen(transcript), str(keep) if keeps else None)
    assert transcript.read_bytes() == transcripts.edited(data, edits) + b"\n"
    assert not keeps or keep.read_bytes() == data


def test_where_the_end_of_the_line_has_come_meanwhile_it_is_not_doubled(transcript: Path):
    data = transcript.read_bytes().rstrip(b"\n")
    transcript.write_bytes(data)
    seen, edits = transcripts.seen(transcript), transcripts.clearing(data)
    transcript.write_bytes(data + b'\n{"type":"user"}\n')
    rewrite.rewrite(str(transcript), edits, seen)
    assert transcript.read_bytes() == transcripts.edited(data, edits) + b'\n{"type":"user"}\n'


def test_what_was_appended_to_the_same_line_is_looked_at_again_before_anything_changes(transcript: Path):
    data = transcript.read_bytes().rstrip(b"\n")
    transcript.write_bytes(data)
    seen, edits = transcripts.seen(transcript), transcripts.clearing(data)
    transcript.write_bytes(data + b'{"type":"user"}\n')
    with pytest.raises(rewrite.Changed):
        rewrite.rewrite(str(transcript), edits, seen)
    _assert_unchanged(transcript, data + b'{"type":"user"}\n')
