"""Print what a scripted session of the real OpenCode sends with and without PopKit, for both kinds of provider.

    python -m tests.opencode.measured

The session reads and shows a file of 120 lines again and again, edits it and runs tests (tests/hosts/conformance/scene.py). Tokens are
four characters. What a request has in common with the one before is read from the cache at a tenth of the price, the rest is written:
Anthropic's at 1.25, OpenAI's at 1.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.client.append_only import changes, parts
from tests.client.scripted_api import CHARS_PER_TOKEN
from tests.hosts.conformance.drivers import OpenCodeWords
from tests.hosts.conformance.scene import FILE, PROMPTS, scripts

from . import installs
from .client import MODELS, Project, Server
from .conversations import big_file, bodies
from .scripted_api import BothApis

READ, WRITE = 0.1, {"anthropic": 1.25, "compatible": 1.0}
TURNS = (PROMPTS[0], *PROMPTS[1:] * 2)


def sent(server: Server, name: str, provider: str, plugin: list[Any] | None) -> list[dict[str, Any]]:
    """The requests of the session."""
    with BothApis(scripts(OpenCodeWords())) as api:
        project = Project(server, name, api.url, provider, plugin)
        api.places["work"] = str(project.work)
        (project.work / FILE).write_text(big_file())
        for prompt in TURNS:
            project.say(prompt)
        project.leave()
        return bodies(api, project)


def tokens(texts: list[str]) -> int:
    return sum(map(len, texts)) // CHARS_PER_TOKEN


def cost(requests: list[dict[str, Any]], write: float) -> float:
    """What the prompts cost, in tokens of plain input."""
    units, before = 0.0, []
    for request in requests:
        now = parts(request)
        common = next((at for at, (one, other) in enumerate(zip(before, now)) if one != other), min(len(before), len(now)))
        units += READ * tokens(now[:common]) + write * tokens(now[common:])
        before = now
    return units


def main() -> None:
    print("| provider | | requests | changed | last prompt | all prompts | cost |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), installs.install()) as server:
        for provider in MODELS:
            for what, plugin in (("without", []), ("with PopKit", None)):
                requests = sent(server, f"{provider}-{what.split()[0]}", provider, plugin)
                sizes = [tokens(parts(request)) for request in requests]
                figures = [len(requests), len(changes(requests)), sizes[-1], sum(sizes), round(cost(requests, WRITE[provider]))]
                print(f"| {provider} | {what} | " + " | ".join(f"{figure:,}" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
