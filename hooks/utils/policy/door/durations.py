"""Recognise durations in the output of a run, so that lines which differ in them alone count as the same. Pure.

Only forms in which runners of tests, compilers and linters say how long something of that run took are durations. A limit, a setting, a
clock, a date, a measured value of a benchmark or a number in the name of a test is none, and neither is what could be either.
"""

from __future__ import annotations

import re  # noqa: TID253  no hook loads the door
from functools import lru_cache  # noqa: TID253

from .shown import ContextLines, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .shown import Run

# Durations below a second differ for no reason, and so do others within this factor.
_SHORT_S, _FACTOR = 1.0, 2
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
# A longer line is no report of a runner's.
_LONGEST = 400
# Lines whose durations are kept in mind: each is asked about several times for one result.
_MOST_LINES = 2_000
# Stands for a duration in a line that is compared without.
_GAP = "\0"

_ANY = r"(?<![\w.:,/+-])(?:\d{1,3} ?h ?)?(?:\d{1,4} ?m(?:in)? ?)?\d{1,9}(?:\.\d{1,9})? ?(?:ms|[µu]s|ns|s|secs?|seconds?)(?![\w/])"
_PART = re.compile(r"([\d.]+) ?(h|ms|m|[µu]s|ns|s)")
# Before an `in`: what is over by then.
_OVER = (
    r"(?:\b(?:passed|skipped|deselected|xfailed|xpassed|warnings?|[Ff]inished|[Bb]uilt|[Cc]ompiled|[Cc]ompleted|[Dd]one|[Rr]an|tests?|examples?"
    r"|files?|modules?|packages?|successfully|SUCCESSFUL)|\btarget\(s\))"
)
# Each form has one group, and all durations in that are the run's. Compiled when a line is first asked about: it takes as long as to start
# Python. Of a whole line:
_LINES = "|".join((
    # node --test, mocha, jest, Playwright, bun, go test, dotnet: behind what is marked as passed, in brackets at the line's end.
    rf"\s*(?:[✓✔√▶]|ok\b|--- (?:PASS|SKIP):|PASS\b|\(pass\) |Passed\b|\d+ (?:passing|passed)\b).*([(\[] *{_ANY}[)\]])$",
    r"\s*(?:[#ℹ] )?duration_ms:? (?P<ms>\d{1,9}(?:\.\d{1,9})?)$",  # node --test, TAP: without a unit
    rf"\s*ok\b.* # time=({_ANY})$",  # tap
    rf"ok\s+[A-Za-z_.]\S*\s+({_ANY})(?:$|\s)",  # go test
    rf"Ran \d+ tests? across \d+ files?\. (\[{_ANY}\])$",  # bun
    rf"\s*(?:PASS|Summary) (\[ *{_ANY}\]) ",  # cargo nextest
    rf"({_ANY}) +(?:call|setup|teardown) +\S+::",  # pytest --durations
    rf"\s*Duration {{2}}({_ANY}(?: \((?:\w+ {_ANY}(?:, )?)+\))?)$",  # Vitest
    rf"\s*Time: {{2,}}({_ANY})(?:, estimated {_ANY})?$",  # jest
    rf"\S+ ({_ANY}) \(unchanged\)$",  # Prettier
    rf"Wall time: ({_ANY})$",  # Codex
))  # fmt: skip
# Anywhere in a line:
_PHRASES = "|".join((
    rf"{_OVER}\.? in ({_ANY})(?=$|[\s.,;=)])(?! of\b)",  # pytest, unittest, cargo, Gradle, npm, linters
    rf"\bcompilation took ({_ANY})$",  # cargo test
    rf"\(files took ({_ANY}) to load\)$",  # RSpec
    rf"\.\.\. ok (\({_ANY}\))$",  # deno
    rf"\(\d+ tests?(?: \| \d+ skipped)?\) ({_ANY})$",  # Vitest
    rf"\bTime elapsed: ({_ANY})(?=$| --? in )",  # Maven
    rf"\bTotal time: +({_ANY})$",
    rf", Duration: ({_ANY})(?= - \S+\.dll)",  # dotnet
))  # fmt: skip
# What a line has that has a duration: looked for before anything else.
_SIGNS = re.compile(r"\d ?(?:[mnµu]?s|secs?|seconds?)(?![\w/])|duration_ms")
_EACH = re.compile(_ANY)
# In a command whose times are what was asked for.
_ASKS = re.compile(r"(?i)(?<![a-z])(?:times?|timings?|durations?|bench\w*|hyperfine|perf|perform\w*|profil\w*|slow\w*|speed\w*)(?![a-z])")


def asked_for(command: object) -> bool:
    """Return whether a command asks how long something takes."""
    return isinstance(command, str) and _ASKS.search(command) is not None


@lru_cache(maxsize=_MOST_LINES)
def within(line: str) -> Sequence[tuple[int, int, float]]:
    """Return [(begin, end, seconds)] of the durations in a line."""
    if len(line) > _LONGEST or _GAP in line or not _SIGNS.search(line):
        return ()
    whole = re.match(_LINES, line)
    if whole and whole["ms"]:
        return [(*whole.span("ms"), float(whole["ms"]) / 1000)]
    spans = [form.span(form.lastindex or 0) for form in ([whole] if whole else re.finditer(_PHRASES, line))]
    return [(*each.span(), _seconds(each[0])) for span in spans for each in _EACH.finditer(line, *span)]


def _seconds(written: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(written.replace("min", "m")))


def cut(line: str) -> str:
    """Return a line up to its first duration; of one that begins with a duration what is behind that."""
    parts = _without(line).split(_GAP, 2)
    return parts[0].rstrip(" \t([") or (parts[1].strip() if len(parts) > 1 else "")


def _without(line: str) -> str:
    """Return a line with a gap for each duration."""
    for begin, end, _ in reversed(within(line)):
        line = line[:begin] + _GAP + line[end:]
    return line


def are_alike(one: str, other: str) -> bool:
    """Return whether two lines are the same, or differ in durations alone that say nothing: each is below a second in both, or within a
    factor of two."""
    if one == other:
        return True
    here, there = within(one), within(other)
    if not here or len(here) != len(there) or _without(one) != _without(other):
        return False
    return all(_says_nothing(min(pair), max(pair)) for pair in zip([each[2] for each in here], [each[2] for each in there]))


def _says_nothing(shorter: float, longer: float) -> bool:
    return longer < _SHORT_S or longer <= _FACTOR * shorter


def difference(here: Iterable[str], there: Iterable[str]) -> str:
    """Return in words how lines differ that are alike, with the longest duration of each."""
    return f"but for the durations (below 1s or within a factor of 2; the longest is {_longest(here)} here, {_longest(there)} there)"


def _longest(lines: Iterable[str]) -> str:
    line, (begin, end, _) = max(((line, each) for line in lines for each in within(line)), key=lambda found: found[1][2])
    written = line[begin:end]
    return written if written[-1] == "s" else written + "ms"


def runs(lines: Sequence[str], stretches: Sequence[tuple[int, int, int | None]], earlier: Iterable[Source]) -> list[Run]:
    """Return the runs of lines that are alike in earlier results, found as `ContextLines.runs` finds those that are the same. Where lines
    differ in durations that are too far apart, one run ends and the next begins."""
    sources = {source.id: source for source in earlier}
    known = ContextLines()
    for source in sources.values():
        known.add(Source(source.id, source.name, [_without(line) for line in source.lines]))
    found = known.runs([_without(line) for line in lines], stretches=stretches)
    return [part for run in found for part in _parts(lines, run._replace(source=sources[run.source.id]))]


def _parts(lines: Sequence[str], run: Run) -> Iterator[Run]:
    """Yield a run, parted at the lines that are not alike: each is the last of one part and the first of the next."""
    begin = run.begin
    there = list(run.source.lines[run.at : run.at + run.end - run.begin])
    for place in range(run.begin + 1, run.end - 1):
        if not are_alike(lines[place], there[place - run.begin]):
            yield run._replace(begin=begin, end=place + 1, at=run.at + begin - run.begin)
            begin = place
    yield run._replace(begin=begin, at=run.at + begin - run.begin)
