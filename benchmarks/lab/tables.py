"""The table of `popkit lab` with the rules of other tools and the oracles, which know the rest of a session and are bounds.

    python benchmarks/lab/tables.py --transcripts FOLDER [--ttl both] [--policy NAME …] [--json] [--html FILE]

`--html` writes a page with plots, and needs plotly.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "power-mode"))

from lab.research import POLICIES, row_of

from popkit_retention.cli.commands import version
from popkit_retention.core import text
from popkit_retention.lab import arguments, survey, survey_views
from popkit_retention.lab.survey_card import card_of

LIFETIMES = {**{name: [ttl_s] for name, ttl_s in arguments.TTLS.items()}, "both": list(arguments.TTLS.values())}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", nargs="+", required=True)
    parser.add_argument("--policy", nargs="+", choices=POLICIES, metavar="NAME", default=list(POLICIES))
    parser.add_argument("--ttl", choices=LIFETIMES, default="both")
    parser.add_argument("--model", default="", help="at whose prices (default: the model that answered each session)")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--html", type=Path)
    asked = parser.parse_args()
    found = survey.survey(
        asked.transcripts, asked.policy, LIFETIMES[asked.ttl], asked.jobs, model=asked.model, known=POLICIES, row_of=row_of
    )
    found["card"] = card_of(found, version())
    print(json.dumps(found) if asked.json else "\n".join(text.laid_out(survey_views.lines_of(found))))
    if asked.html:
        from lab.page import page  # noqa: PLC0415  it needs plotly

        asked.html.write_text(page(found), encoding="utf-8")
    return 0 if found["sessions"] else 1


if __name__ == "__main__":
    sys.exit(main())
