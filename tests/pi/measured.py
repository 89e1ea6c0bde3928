"""Print what a compaction makes of a scripted session of the real pi, with PopKit and without, for both kinds of provider.

python -m tests.pi.measured
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.opencode.conversations import bodies
from tests.opencode.scripted_api import BothApis

from . import installs
from .client import PROVIDERS, Machine, Project
from .long_work import pairs, words, worked

SMALL = {"compaction": {"keepRecentTokens": 400}}


def row(folder: Path, provider: str, extensions: list[Path] | None) -> str:
    """One session, as a row of the table."""
    with BothApis() as api:
        project = Project(Machine(folder, installs.install()), "shop", api.url, provider, extensions, SMALL)
        api.places["work"] = str(project.work)
        before = worked(project, api)
        asked = len(api.requests)
        answer = project.compact()
        asked = len(api.requests) - asked
        project.say("[[SCRIPT:on]] go on")
        after = bodies(api, project)[-2]
        project.leave()
    said = words(before)
    kept = sum(each in words(after) for each in said)
    return (
        f"| {provider} | {'no' if extensions == [] else 'yes'} | {answer['tokensBefore']:,} | {answer['estimatedTokensAfter']:,}"
        f" | {len(json.dumps(before)):,} | {len(json.dumps(after)):,} | {asked} | {kept} of {len(said)} | {len(pairs(before))}"
        f" | {len(pairs(after))} |"
    )


def main() -> None:
    heads = (
        "provider", "PopKit", "tokens before", "after", "characters of the request before", "after", "requests for it",
        "said and still there",        "calls with results before", "after",
    )  # fmt: skip
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    with tempfile.TemporaryDirectory() as folder:
        for provider in PROVIDERS:
            print(row(Path(folder, provider, "with"), provider, None))
            print(row(Path(folder, provider, "without"), provider, []))


if __name__ == "__main__":
    main()
