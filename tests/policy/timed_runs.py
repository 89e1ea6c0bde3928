"""Outputs of runners as they print them when all went well, with a place for the number of each duration: `{ms}` in milliseconds, `{s}` in
seconds."""

from __future__ import annotations

import re

_PLACES = re.compile(r"\{(?:ms|s)\}")


def _many(*forms: str, count: int = 30) -> list[str]:
    return [form.replace("#", str(at)) for at in range(1, count + 1) for form in forms]


# runner -> (the command, the lines)
RUNS: dict[str, tuple[str, list[str]]] = {
    "node --test": (
        "npm test",
        [
            "▶ basket", *_many("  ✔ adds item # and its price ({ms}ms)"), "✔ basket ({ms}ms)",
            "ℹ tests 30", "ℹ suites 1", "ℹ pass 30", "ℹ fail 0", "ℹ cancelled 0", "ℹ skipped 0", "ℹ todo 0", "ℹ duration_ms {ms}",
        ],
    ),
    "node --test, TAP": (
        "npm test | cat",
        [
            "TAP version 13", *_many("# Subtest: adds item #", "ok # - adds item #", "  ---", "  duration_ms: {ms}", "  ..."),
            "1..30", "# tests 30", "# pass 30", "# fail 0", "# duration_ms {ms}",
        ],
    ),
    "mocha": ("npx mocha", ["", "  basket", *_many("    ✔ adds item # and its price ({ms}ms)"), "", "  30 passing ({ms}ms)", ""]),
    "jest": (
        "npx jest",
        [
            "PASS src/basket.test.js ({s} s)", "  basket", *_many("    ✓ adds item # and its price ({ms} ms)"), "",
            "Test Suites: 1 passed, 1 total", "Tests:       30 passed, 30 total", "Snapshots:   0 total",
            "Time:        {s} s, estimated 2 s", "Ran all test suites.",
        ],
    ),
    "Vitest": (
        "npx vitest run",
        [
            " RUN  v2.1.8 /shop", "", *_many(" ✓ src/part_#.test.ts (12 tests | 1 skipped) {ms}ms"), "",
            " Test Files  30 passed (30)", "      Tests  330 passed | 30 skipped (360)",
            "   Duration  {s}s (transform {ms}ms, setup {ms}ms, collect {s}s, tests {ms}ms, environment {ms}ms, prepare {ms}ms)", "",
        ],
    ),
    "Playwright": (
        "npx playwright test",
        ["", "Running 30 tests using 1 worker", *_many("  ✓  # [chromium] › shop.spec.ts › adds item # ({ms}ms)"), "  30 passed ({s}s)"],
    ),
    "bun": (
        "bun test",
        ["src/shop.test.ts:", *_many("(pass) basket > adds item # [{ms}ms]"), "", " 30 pass", "Ran 30 tests across 1 files. [{ms}ms]"],
    ),
    "deno": ("deno test", [*_many("adds item # and its price ... ok ({ms}ms)"), "", "ok | 30 passed | 0 none ({ms}ms)"]),
    "go test -v": (
        "go test -v ./...",
        [*_many("=== RUN   TestPriceOfItem#", "--- PASS: TestPriceOfItem# ({s}s)"), "PASS", "ok  \tshop/basket\t{s}s"],
    ),
    "go test": (
        "go test ./...",
        [*_many("ok  \tshop/part_#/basket\t{s}s\tcoverage: 81.4% of statements", "?   \tshop/part_#/types\t[no test files]")],
    ),
    "cargo test": (
        "cargo test",
        [
            "    Finished `test` profile [unoptimized + debuginfo] target(s) in {s}s",
            *_many("running 1 test", "test adds_item_# ... ok", "test result: ok. 1 passed; 0 ignored; # filtered out; finished in {s}s"),
            "all doctests ran in {s}s; merged doctests compilation took {s}s",
        ],
    ),
    "cargo nextest": (
        "cargo nextest run",
        [*_many("        PASS [   {s}s] shop basket adds_item_#"), "------------", "     Summary [   {s}s] 30 tests run: 30 passed"],
    ),
    "pytest": (
        "pytest",
        [
            *_many("tests/test_part_#.py::test_price PASSED"), "============= slowest tests =============",
            *_many("{s}s call     tests/test_part_#.py::test_price[#]"), "============= 30 passed, 1 skipped in {s}s =============", "",
        ],
    ),
    "unittest": ("python -m unittest -v", [*_many("test_price_# (tests.Prices) ... ok", "Ran 1 test in {s}s", "OK"), ""]),
    "Maven": (
        "mvn test",
        [
            *_many("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: {s} s -- in shop.Part#Test"),
            "[INFO] BUILD SUCCESS", "[INFO] Total time:  {s} s", "",
        ],
    ),
    "Gradle": ("./gradlew test", [*_many(":part#:test UP-TO-DATE", "BUILD SUCCESSFUL in {s}s"), ""]),
    "dotnet": (
        "dotnet test",
        [
            *_many("  Passed Shop.Adds_item_# [{ms} ms]"),
            "Passed!  - Failed: 0, Passed: 30, Skipped: 0, Total: 30, Duration: {ms} ms - Shop.dll (net8.0)", "",
        ],
    ),
    "RSpec": (
        "bundle exec rspec",
        [*_many("  adds item # and its price", "Finished in {s} seconds (files took {s} seconds to load)"), "30 examples", ""],
    ),
    "Prettier": ("npx prettier --write .", [*_many("src/part_#/basket.ts {ms}ms (unchanged)"), ""]),
    "Biome": ("npx biome check", [*_many("Checked # files in {ms}ms. No fixes applied."), ""]),
}  # fmt: skip


def places(lines: list[str]) -> list[str]:
    """The unit of each duration, in order."""
    return [place.strip("{}") for place in _PLACES.findall("\n".join(lines))]


def printed(lines: list[str], numbers: list[str]) -> str:
    """The output with these numbers of its durations."""
    rest = iter(numbers)
    return _PLACES.sub(lambda _: next(rest), "\n".join(lines))
