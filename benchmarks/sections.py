"""A benchmark of several sections: `python benchmarks/NAME.py SECTION [--json] [OPTIONS OF THE SECTION]`.

Each section is a module with `add_options(parser)`, which adds its options, and `run(options)`, whose rows are printed as a table: dicts
with the same keys. MissingData says what is not on this machine; the section is then left out, with a message.
"""

from __future__ import annotations

import argparse
import importlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class MissingData(Exception):
    """What a section needs is not on this machine."""


def main(about: str | None, beginning: str, sections: Sequence[str]) -> int:
    """Runs the section that the command line names, of the module BEGINNING_SECTION."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=sections)
    parser.add_argument("options", nargs=argparse.REMAINDER, help="--help: which there are")
    asked = parser.parse_args()
    section = importlib.import_module(f"{beginning}_{asked.section}")
    its = argparse.ArgumentParser(
        prog=f"{parser.prog} {asked.section}", description=section.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    its.add_argument("--json", action="store_true", help="rows as JSON")
    section.add_options(its)
    options = its.parse_args(asked.options)
    try:
        rows = section.run(options)
    except MissingData as missing:
        print(f"{asked.section}: left out. {missing}")
        return 0
    print(json.dumps(rows, indent=1) if options.json else table(rows))
    return 0


def table(rows: list[dict[str, object]]) -> str:
    """Rows under the names of their columns; shares with three decimals."""
    heads = list(rows[0])
    lines = [heads, *([f"{row[head]:.3f}" if isinstance(row[head], float) else str(row[head]) for head in heads] for row in rows)]
    first, *others = [max(len(line[at]) for line in lines) for at in range(len(heads))]
    return "\n".join(
        "  ".join([line[0].ljust(first), *(cell.rjust(width) for cell, width in zip(line[1:], others))]).rstrip() for line in lines
    )
