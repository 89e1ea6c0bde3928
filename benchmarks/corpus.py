"""Which of the public recorded sessions lie below some folders; and ordinary transcripts of Entire's checkpoints, as most are published.
Nothing is fetched, and none is shipped.

    python benchmarks/corpus.py FOLDER… [--json]
    python benchmarks/corpus.py convert PLACE… FOLDER

corpus.json points at them: repository, licence, commit, path, and the file's length in characters and its SHA-256. A session is known by
its digest, whatever its name. What is missing is listed with the address at which it is published. `convert` takes folders of checkpoints
and repositories that have them in commits, and writes the last checkpoint of each session to FOLDER, which all benchmarks and `popkit lab`
read.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

import checkpoints  # noqa: E402  beside this file

from popkit_retention.lab.survey_card import digest_of  # noqa: E402  the benchmark runs from anywhere

POINTERS = Path(__file__).with_suffix(".json")


def pointers() -> list[dict[str, Any]]:
    """Return all pointers, with the repository's name and licence in each."""
    known = json.loads(POINTERS.read_text(encoding="utf-8"))["repositories"]
    return [{"repository": name, "licence": one["licence"], **each} for name, one in known.items() for each in one["sessions"]]


def found_in(folders: list[Path]) -> dict[str, Path]:
    """Return SHA-256 -> path of the *.jsonl files below some folders, or of files that are named."""
    files = [path for folder in folders for path in ([folder] if folder.is_file() else sorted(folder.rglob("*.jsonl")))]
    return {digest_of(str(path)): path for path in files if path.is_file()}


def address_of(pointer: dict[str, Any]) -> str:
    """Return where a session is published."""
    return f"https://github.com/{pointer['repository']}/blob/{pointer['commit']}/{pointer['path']}"


def main() -> int:
    """Print what is there and what is missing; return 1 where anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a folder of sessions, or a session")
    parser.add_argument("--json", action="store_true", help="as JSON: each pointer with the path at which it was found, or null")
    if sys.argv[1:2] == ["convert"]:
        *places, folder = parser.parse_args(sys.argv[2:]).folders
        written, others = checkpoints.convert(places, folder)
        print(f"{len(written)} transcripts in {folder}")
        for agent, count in sorted(others.items()):
            print(f"left out: {count} of {agent}")
        return int(not written)
    words = parser.parse_args()
    wrong = [str(folder) for folder in words.folders if not folder.exists()]
    if wrong:
        parser.error(f"there is no {wrong[0]}")
    here = found_in(words.folders)
    known = [{**each, "found": str(here[each["sha256"]]) if each["sha256"] in here else None} for each in pointers()]
    missing = [each for each in known if each["found"] is None]
    if words.json:
        print(json.dumps(known, indent=1))
        return int(bool(missing))
    print(f"{len(known) - len(missing)} of {len(known)} public sessions are here.")
    for name in dict.fromkeys(each["repository"] for each in known):
        own = [each for each in known if each["repository"] == name]
        print(f"  {name} ({own[0]['licence']}): {sum(each['found'] is not None for each in own)} of {len(own)}")
    if missing:
        print("Missing, published at:")
        print("\n".join(f"  {address_of(each)}" for each in missing))
    return int(bool(missing))


if __name__ == "__main__":
    raise SystemExit(main())
