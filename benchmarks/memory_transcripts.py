"""Recorded sessions for the benchmarks of memory: `REPOSITORY__anything.jsonl`, in a folder or an archive, for evaluation alone."""

from __future__ import annotations

import tarfile
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from sections import MissingData

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

ARCHIVE = Path(__file__).resolve().parent.parent.parent / "shared" / "transcripts" / "dev-sessions.tar.xz"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--transcripts", type=Path, default=ARCHIVE, help="a folder of *.jsonl, or an archive of them (.tar.xz)")


@contextmanager
def by_repository(source: Path) -> Iterator[dict[str, list[Path]]]:
    """repository -> its transcripts, for as long as they are needed. MissingData where there is no such folder or archive."""
    if not source.exists():
        raise MissingData(f"there are no transcripts at {source}")
    with unpacked(source) as folder:
        found = defaultdict(list)
        for path in sorted(folder.glob("*.jsonl")):
            found[path.name.partition("__")[0]].append(path)
        yield dict(sorted(found.items()))


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder of the transcripts; an archive is unpacked for as long as it is needed."""
    if source.is_dir():
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(source, "r:xz") as archive:
            for member in archive:
                data = archive.extractfile(member) if member.isfile() and member.name.endswith(".jsonl") else None
                if data is not None:
                    (Path(folder) / Path(member.name).name).write_bytes(data.read())
        yield Path(folder)
