"""How closely the fit of a limit's window tells what tokens are worth, and after how many windows it claims anything.

    python benchmarks/limits_fit.py --transcripts FOLDER [--histories 60] [--windows 8 12 16 24 32]

Histories are made of recorded sessions, one after another as a coin has it, with their own pauses (half an hour at most, and breaks and
nights between), at their models' tokens. What a token is worth is made up, so it is known: `price` as the API's prices, `free reads` the
same with nothing for what is read from the cache, `own` each kind and model up to three times dearer or cheaper than its price. All is
scaled until the middle window is 60 % full. Readings are whole percents, as Claude Code gives them: looked at each 5 to 60 seconds while
requests come, and kept as the helper keeps them. `one`: sessions of the model with the most requests alone.

Of each sum: the share of histories whose error holds what is so (95 are meant to in 100), the share that claims it (an error of a third at
most), the share of these that holds, and the middle error as a share of the sum. `clear`: 30,000 tokens that leave a cold cache and would
have been read 13 times; `cold`: 100,000 tokens written again instead of read; both of the model that was used most. `all`: all tokens of
the history whose models have weights.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from hooks.utils.hosts.claude_code import sent
from hooks.utils.policy.economics import plain, write_kind
from hooks.utils.policy.limits import FIVE_HOUR, LENGTHS_S, TOKEN_USES, Reading
from hooks.utils.state import client_reports, shipped
from popkit_retention.bill.fit import Fit, movements
from popkit_retention.bill.sums import GRAIN_S

RULES = ("price", "free reads", "own")
SUMS = ("clear", "cold", "read", "write", "output", "all")
LENGTH_S = LENGTHS_S[FIVE_HOUR]
BEGAN = 1_800_000_000.0
LEAST_REQUESTS = 10
DAY_S, WORK_S, PAUSE_S, BREAK_S = 86_400, 9 * 3_600, 1_800, 900
MIDDLE = 60.0  # percent of a window
UNKNOWN_USD = 5.0  # a million tokens of input, of a model without a known price


def sessions_of(folder: Path) -> list:
    """[[(seconds since its first request, model, tokens by KINDS)]] of each recorded session."""
    found = []
    for path in sorted(folder.rglob("*.jsonl")):
        at, before, rows = 0.0, None, []
        for request in sent.read(str(path), path.stat().st_size).requests:
            usage = request.usage
            at += 0.0 if before is None else min(PAUSE_S, max(1.0, usage.at - before))
            before = usage.at
            tokens = dict.fromkeys(TOKEN_USES, 0)
            tokens.update(plain=max(0, usage.tokens - usage.read - usage.created), read=usage.read, output=request.output)
            tokens[write_kind(usage.cache_ttl_s)] = usage.created
            rows.append((at, usage.model, tokens))
        if len(rows) >= LEAST_REQUESTS:
            found.append(rows)
    return found


def of_one_model(sessions: list) -> list:
    counts = Counter(model for session in sessions for _, model, _ in session)
    ((model, _),) = counts.most_common(1)
    return [session for session in sessions if all(each == model for _, each, _ in session)]


class History:
    """So many windows of recorded sessions: `readings`, `digests`, what a million tokens of a column are worth (`percent`), all that was
    used, by column (`used`), and when the windows began (`began`)."""

    def __init__(self, seed: int, sessions: list, windows: int, rule: str) -> None:
        self.draw = random.Random(seed)
        self.began: list[float] = []
        requests = self._worked(sessions, windows)
        self.used: Counter = Counter()
        for _, model, tokens in requests:
            self.used.update({(plain(model), kind): count for kind, count in tokens.items() if count})
        self.percent = self._worth({model for _, model, _ in requests}, rule)
        of_window: defaultdict = defaultdict(float)
        for at, model, tokens in requests:
            of_window[self._window(at)] += self._of(model, tokens)
        scale = MIDDLE / statistics.median(of_window.values())
        self.percent = {column: value * scale for column, value in self.percent.items()}
        self.readings = self._read(requests)
        rows: dict = {}
        for at, model, tokens in requests:
            rows.setdefault(model, []).append([int(at) // GRAIN_S * GRAIN_S, *tokens.values()])
        self.digests: list = [{"by_model": rows}]

    def _worked(self, sessions: list, windows: int) -> list:
        requests: list = []
        at = morning = BEGAN
        while True:
            session = self.draw.choice(sessions)
            for since, model, tokens in session:
                if not self.began or at + since >= self.began[-1] + LENGTH_S:
                    if len(self.began) == windows:
                        return requests
                    self.began.append(at + since)
                requests.append((at + since, model, tokens))
            at += session[-1][0] + self.draw.expovariate(1 / BREAK_S)
            if at > morning + WORK_S:
                morning += DAY_S * max(1, -(-(at - morning) // DAY_S))
                at = morning

    def _worth(self, models: set, rule: str) -> dict:
        table = shipped.rules().models
        kinds = {kind: 3 ** self.draw.uniform(-1, 1) if rule == "own" else 1.0 for kind in TOKEN_USES}
        worth = {}
        for id in sorted(models):
            model = table.model(id)
            units = dict(zip(TOKEN_USES, (1.0, model.read, model.write_5m, model.write_1h, model.output_units)))
            factor = (model.usd(0)[0] or UNKNOWN_USD) * (3 ** self.draw.uniform(-1, 1) if rule == "own" else 1.0)
            worth.update({(plain(id), kind): factor * kinds[kind] * value for kind, value in units.items()})
            if rule == "free reads":
                worth[plain(id), "read"] = 0.0
        return worth

    def _of(self, model: str, tokens: dict) -> float:
        return sum(self.percent[plain(model), kind] * count / 1e6 for kind, count in tokens.items())

    def _window(self, at: float) -> int:
        return bisect_right(self.began, at) - 1

    def _read(self, requests: list) -> list:
        readings: list[Reading] = []
        full = look = 0.0
        for number, (at, model, tokens) in enumerate(requests):
            window = self._window(at)
            resets = self.began[window] + LENGTH_S
            full = self._of(model, tokens) + (full if readings and readings[-1].resets_at == resets else 0.0)
            until = min(resets, at + client_reports.EVERY_S, requests[number + 1][0] if number + 1 < len(requests) else resets)
            look = at + self.draw.uniform(1, 60)
            while look < until or not readings or readings[-1].resets_at != resets:
                new = Reading(FIVE_HOUR, look, float(round(full)), resets)
                last = readings[-1] if readings else None
                if last is None or last.resets_at != resets or new.percent > last.percent or look - last.at >= client_reports.EVERY_S:
                    readings.append(new)
                look += self.draw.uniform(5, 60)
        return readings

    def fit(self, windows: int) -> Fit:
        """Fit to the first so many windows."""
        end = self.began[windows] if windows < len(self.began) else float("inf")
        return Fit(FIVE_HOUR, movements([each for each in self.readings if each.at < end], FIVE_HOUR, self.digests))

    def sums(self, known: Collection) -> dict:
        """Name -> the tokens of a sum; `known`: the columns that have weights."""
        counts: Counter = Counter()
        for (model, _), count in self.used.items():
            counts[model] += count
        ((model, _),) = counts.most_common(1)
        write = max(("write_5m", "write_1h"), key=lambda kind: self.used[model, kind])
        return {
            "clear": {(model, write): 30_000, (model, "read"): 13 * 30_000}, "cold": {(model, write): 100_000, (model, "read"): -100_000},
            "read": {(model, "read"): 1e6}, "write": {(model, write): 1e6}, "output": {(model, "output"): 1e6},
            "all": {column: count for column, count in self.used.items() if column in known},
        }  # fmt: skip

    def truth(self, tokens: dict) -> float:
        return sum(self.percent[column] * count / 1e6 for column, count in tokens.items())


def judged(history: History, windows: int) -> dict:
    """Name of a sum -> (whether the error holds what is so, whether it is claimed, the error as a share of what is so); None where nothing
    is known of it."""
    fit = history.fit(windows)
    if fit.weights is None:
        return dict.fromkeys(SUMS)
    found: dict = {}
    for name, tokens in history.sums(fit.weights.columns).items():
        worth, truth = fit.weights.worth(tokens), history.truth(tokens)
        found[name] = worth and (
            abs(worth[0] - truth) <= worth[1],
            fit.weights.claimed(tokens) is not None,
            worth[1] / abs(truth) if truth else None,
        )
    return found


def row_of(found: list) -> str:
    known = [each for each in found if each]
    claimed = [each for each in known if each[1]]
    widths = [each[2] for each in known if each[2] is not None]
    held = statistics.mean(each[0] for each in known) if known else None
    held_where_claimed = statistics.mean(each[0] for each in claimed) if claimed else None
    return "  ".join(
        [_share(held), _share(len(claimed) / len(found)), _share(held_where_claimed), _share(statistics.median(widths) if widths else None)]
    )


def _share(value: float | None) -> str:
    return f"{value:>7.0%}" if value is not None else f"{'-':>7}"


def until_claimed(of_windows: dict, name: str) -> str:
    """After how many windows half of the histories claim a sum."""
    return next(
        (
            str(windows)
            for windows, found in of_windows.items()
            if sum(bool(each[name] and each[name][1]) for each in found) * 2 >= len(found)
        ),
        "-",
    )


def main() -> int:
    """Print the table of each rule and pool of sessions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True)
    parser.add_argument("--histories", type=int, default=60)
    parser.add_argument("--windows", type=int, nargs="+", default=[8, 12, 16, 24, 32])
    asked = parser.parse_args()
    sessions = sessions_of(asked.transcripts)
    if not sessions:
        parser.error(f"no session of {LEAST_REQUESTS} requests in {asked.transcripts}")
    for pool, of_pool in (("all models", sessions), ("one", of_one_model(sessions))):
        for rule in RULES:
            histories = [History(seed, of_pool, max(asked.windows), rule) for seed in range(asked.histories)]
            of_windows = {windows: [judged(history, windows) for history in histories] for windows in asked.windows}
            print(f"{pool}, {rule}: {len(histories)} histories of {len(of_pool)} sessions")
            print(f"{'windows':>7}  {'sum':<7}{'held':>7}  {'claimed':>7}  {'of them':>7}  {'error':>7}")
            for windows, found in of_windows.items():
                for name in SUMS:
                    print(f"{windows:>7}  {name:<7}{row_of([each[name] for each in found])}")
            print("half claim it after: " + ", ".join(f"{name} {until_claimed(of_windows, name)}" for name in SUMS), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
