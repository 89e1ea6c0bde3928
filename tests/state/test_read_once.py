"""What a person asks reads the transcript for one rebuild, also while the host is still writing its last lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from popkit_retention.core.state import reconciling
from tests.reclaim.shops import ROOT, STEP_S, Shop, worked

_ASK = """
import json, sys
from popkit_retention.core.operations import context_words
from popkit_retention.core.state.site import Site
environ, session, project, transcript, now = json.loads(sys.argv[1])
opened = []
sys.addaudithook(lambda event, values: opened.append(values[0]) if event == "open" and values[0] == transcript else None)
context_words.answer("", Site(environ, session, project), transcript, now)
print(len(opened))
"""


def opens(shop: Shop) -> int:
    """How often a process that answers the retention question opens the transcript."""
    asked = json.dumps([shop.environ(), shop.session_id, str(shop.project), str(shop.transcript), shop.at])
    done = subprocess.run([sys.executable, "-c", _ASK, asked], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_retention_reads_once_though_its_last_results_are_not_in_it_yet(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.at = talk.now - STEP_S + 1  # a second after the last result
    reconciling.reconcile(shop.site(), str(shop.transcript))
    whole = opens(shop)

    lines = shop.transcript.read_bytes().splitlines(keepends=True)
    shop.transcript.write_bytes(b"".join(lines[:-2]))  # all but the last result and what is said of it
    assert (whole, opens(shop)) == (3, 3), "a rebuild goes through it twice, and what the prompt had before is in its head"
