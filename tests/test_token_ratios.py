"""Estimates of tokens, held against what recorded requests took; and what the benchmark that measures it makes of a session of ours."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks import tokens as benchmark
from popkit_retention.core.policy.estimate import CALL_TOKENS, RESULT_TOKENS, estimate_tokens
from popkit_retention.core.state.opening import open_context
from popkit_retention.core.state.site import Site
from tests.lab.transcripts import Transcript

# Sessions of Claude models that count like Opus 5, and of one that counts as those before did.
NEW = (
    "gmeligio-flutter-docker-image__38ea9125e8", "gmeligio-flutter-docker-image__ee202b09e2",
    "entireio-git-sync__f8a5f671af", "entireio-git-sync__637be9a085",
)  # fmt: skip
OLD = ("entireio-git-sync__20fe430db7",)
FEWEST = 10


def found(folder: Path, names: tuple[str, ...], factor: float) -> dict[str, float]:
    """kind -> median of estimate by usage."""
    every: dict = defaultdict(list)
    for name in names:
        for kind, several in benchmark.ratios(benchmark.steps_of(folder / f"{name}.jsonl"), factor).items():
            every[kind] += several
    return {kind: statistics.median(several) for kind, several in every.items() if len(several) >= FEWEST}


@pytest.mark.parametrize(("names", "factor", "kinds"), [(NEW, 1.0, 7), (OLD, 0.87, 3)])
def test_by_kind_a_recorded_step_takes_what_was_estimated_within_a_tenth(transcripts_of_2026: Path, names, factor, kinds):
    medians = found(transcripts_of_2026, names, factor)
    assert len(medians) >= kinds
    assert {kind: round(median, 2) for kind, median in medians.items() if not 0.9 <= median <= 1.1} == {}


@pytest.mark.parametrize("name", [NEW[0], NEW[2], OLD[0]])
def test_from_the_tenth_request_on_the_context_is_shown_within_a_twentieth(transcripts_of_2026: Path, name: str):
    rows = benchmark.shown_of(transcripts_of_2026 / f"{name}.jsonl")
    assert len(rows) > 50
    assert sum(abs(shown - 1) <= 0.05 for _, shown, _ in rows) / len(rows) > 0.95


def test_a_step_is_what_came_between_two_requests_and_takes_its_largest_kind(tmp_path: Path):
    session, text = Transcript(), "x = 1\n" * 500
    session.prompt("begin")
    for id, message, prompt in (("a", "m1", 20_000), ("b", "m2", 22_000), ("c", "m3", 25_000)):
        session.use(id, "Bash", {"command": f"cat {id}.py"}, message=message, usage={"input_tokens": prompt})
        session.result(id, text)
    path = tmp_path / "session.jsonl"
    session.write(path)
    steps = benchmark.steps_of(path)
    call = CALL_TOKENS + estimate_tokens("commandcat a.py", "call")
    assert [(step.kind, step.grown, step.estimated) for step in steps] == [
        ("code", grown, call + RESULT_TOKENS + estimate_tokens(text.strip("\n"), "code")) for grown in (2_000, 3_000)
    ]
    assert benchmark.ratios(steps, 0.5)["code"][0] == pytest.approx(steps[0].estimated / 4_000)


@pytest.mark.parametrize(("model", "factor"), [("claude-opus-4-6[1m]", 0.87), ("claude-opus-5", 1.0)])
def test_a_new_context_counts_as_the_model_that_its_session_began_with(tmp_path: Path, model: str, factor: float):
    site = Site({"POPKIT_HOME": str(tmp_path)}, "session", str(tmp_path))
    site.remember(model=model)
    stored, _ = open_context(site, site.paths(), None)
    assert stored.state.calibration == factor
