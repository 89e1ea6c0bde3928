"""The model of need is learnt from what sessions show: which results the assistant came back to, and which it did not; how long they
stay of use is counted from what is needed again."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lab.fitting import L2, Table, auc, fit, judged, learn, log_loss, rows_of, solve
from benchmarks.lab.survival import survival
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.need_model import FEATURES, model_of
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import Session
from tests.lab.session_builder import SessionBuilder
from tests.lab.transcripts import Transcript, filled

RULES = Ruleset.from_config({}, TOOLS)


def labels(builder: SessionBuilder, ahead: int = 0) -> list[int]:
    return [needed for _, needed, _ in rows_of(builder.session, RULES, random.Random(1), ahead)]


def test_a_result_is_needed_up_to_the_last_answer_that_writes_what_it_held():
    builder = SessionBuilder()
    block = builder.read("/p/a.py")
    builder.request()
    builder.request([block])
    builder.request()
    assert labels(builder) == [1, 1, 0]


def test_it_is_needed_soon_if_one_of_the_next_answers_writes_what_it_held():
    builder = SessionBuilder()
    block = builder.read("/p/a.py")
    for needs in ([], [], [[block]], []):
        builder.request(*needs)
    assert [labels(builder, ahead) for ahead in (1, 2, 3)] == [[0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]]


def test_only_the_newest_of_several_holders_is_needed():
    builder = SessionBuilder()
    older, newer = builder.read("/p/a.py"), builder.read("/p/b.py")
    builder.request([older, newer])
    assert labels(builder) == [0, 1]


def test_compacted_results_give_no_further_rows():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.request()
    builder.compact()
    builder.request()
    assert labels(builder) == [0]


def test_rewound_results_give_no_further_rows():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.read("/p/b.py")
    builder.request()
    builder.cut(3)  # the prompt, and the call of the first with its result
    builder.request()
    assert len(labels(builder)) == 3


def test_small_results_are_left_out():
    builder = SessionBuilder()
    builder.read("/p/a.py", chars=100)
    builder.request()
    assert labels(builder) == []


def test_a_young_result_gives_a_row_per_request_and_an_older_one_only_a_few():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    for number in range(300):
        builder.read(f"/p/small{number}.py", chars=1)
        builder.request()
    rows = rows_of(builder.session, RULES, random.Random(5))
    ages = sorted(round(math.expm1(dict(found)["age"])) for found, _, _ in rows)
    assert ages[:6] == [1, 2, 3, 4, 5, 6]
    assert 20 < len(ages) < 80


def _drawn(size: int, rng: random.Random) -> list:
    """Rows of results of which reads are needed with odds of e to the (1 - quiet), and runs with even odds."""
    rows = []
    for _ in range(size):
        quiet = rng.uniform(0, 4)
        if rng.random() < 0.5:
            rows.append(([("kind read", 1.0), ("quiet", quiet)], int(rng.random() < 1 / (1 + math.exp(quiet - 1))), 1.0))
        else:
            rows.append(([("kind run", 1.0)], int(rng.random() < 0.5), 1.0))
    return rows


def test_the_regression_finds_the_weights_that_the_rows_were_drawn_from():
    weights = fit(_drawn(20_000, random.Random(7)))
    assert weights["kind read"] == pytest.approx(1.0, abs=0.15)
    assert weights["quiet"] == pytest.approx(-1.0, abs=0.1)
    assert weights["kind run"] == pytest.approx(0.0, abs=0.1)
    assert weights["kind search"] == 0.0


def test_at_the_weights_found_no_small_change_makes_the_rows_likelier():
    rows = _drawn(400, random.Random(3))
    weights = fit(rows)

    def loss(weights: dict[str, float]) -> float:
        surprise = 0.0
        for found, needed, count in rows:
            total = sum(weights[name] * value for name, value in found)
            surprise += count * (math.log1p(math.exp(total)) - needed * total)
        return surprise + L2 * sum(weight**2 for weight in weights.values()) / 2

    best = loss(weights)
    for name in ("kind read", "quiet", "kind run", "size"):
        for change in (-0.01, 0.01):
            assert loss({**weights, name: weights[name] + change}) > best


def test_a_row_of_weight_two_counts_as_two_rows():
    rows = _drawn(200, random.Random(4))
    twice = fit([(found, needed, 2.0) for found, needed, _ in rows])
    assert twice == pytest.approx(fit(rows + rows))


def test_rows_that_all_say_the_same_still_have_finite_weights():
    weights = fit([([("bias", 1.0)], 0, 1.0)] * 50)
    assert -6 < weights["bias"] < -2


def test_without_rows_no_feature_says_anything():
    assert fit([]) == dict.fromkeys(FEATURES, 0.0)


def test_the_rows_of_some_folds_are_those_that_were_added_to_them():
    table, folds = Table(), [_drawn(100, random.Random(seed)) for seed in range(3)]
    for fold, rows in enumerate(folds):
        table.add(rows, fold)
    assert table.size() == 300
    assert table.of([0, 2]).size() == 200
    assert fit(table.of([0, 2])) == pytest.approx(fit(folds[0] + folds[2]))
    assert fit(table) == pytest.approx(fit([row for rows in folds for row in rows]))


@given(
    st.lists(st.lists(st.floats(-3, 3), min_size=4, max_size=4), min_size=4, max_size=4), st.lists(st.floats(-5, 5), min_size=4, max_size=4)
)
def test_the_solution_of_a_system_solves_it(roots, wanted):
    # roots x roots transposed + 1 is symmetric and positive definite.
    matrix = [[sum(a * b for a, b in zip(row, other)) + (row is other) for other in roots] for row in roots]
    right = [sum(a * b for a, b in zip(row, wanted)) for row in matrix]
    lower = [row[: at + 1] for at, row in enumerate(matrix)]
    assert solve(lower, right) == pytest.approx(wanted, abs=1e-6)


def test_the_area_under_the_curve_is_the_share_of_pairs_in_the_right_order():
    assert auc([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) == 1.0
    assert auc([0.9, 0.8, 0.2, 0.1], [0, 0, 1, 1]) == 0.0
    assert auc([0.5, 0.5, 0.5], [0, 1, 1]) == 0.5
    assert auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]) == 0.75
    assert auc([0.3, 0.4], [1, 1]) == 0.5


def test_the_log_loss_is_the_mean_surprise():
    assert log_loss([0.5, 0.5], [0, 1]) == pytest.approx(math.log(2))
    assert log_loss([0.25, 0.9], [1, 0]) == pytest.approx((math.log(4) + math.log(10)) / 2)
    assert log_loss([], []) == 0


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.integers(0, 1)), min_size=2, max_size=30))
def test_the_area_is_what_counting_all_pairs_gives(drawn):
    pairs = [(a > b) + (a == b) / 2 for a, first in drawn for b, second in drawn if first == 1 and second == 0]
    assert auc([chance for chance, _ in drawn], [label for _, label in drawn]) == pytest.approx(sum(pairs) / len(pairs) if pairs else 0.5)


def _taught(seed: int, share: float = 0.8) -> Session:
    """A session whose assistant comes back to that share of what it just read, and to nothing older."""
    builder, rng = SessionBuilder(), random.Random(seed)
    for number in range(60):
        block = builder.read(f"/p/{number}.py")
        builder.request(*([[block]] if rng.random() < share else []))
    return builder.session


def test_what_is_learnt_is_a_model_that_expects_more_of_what_was_just_read():
    plain = learn((_taught(seed) for seed in range(5)), RULES)
    assert plain["learnt"]["sessions"] == 5
    assert plain["learnt"]["rows"] > 300
    assert plain["learnt"]["auc"] > 0.85
    assert all(weight == round(weight, 4) for weight in plain["weights"].values())
    model = model_of(plain)
    rows = rows_of(_taught(9), RULES, random.Random(1))
    chances, labels = judged(model.weights, rows)
    assert auc(chances, labels) > 0.85


def test_the_same_sessions_teach_the_same():
    assert learn([_taught(1), _taught(2)], RULES) == learn([_taught(1), _taught(2)], RULES)


def test_a_model_is_judged_by_sessions_that_it_was_not_learnt_from():
    sessions = [_taught(seed, share) for seed, share in enumerate((0.2, 0.5, 0.9))]
    surprises, labels = [], []
    for held in sessions:
        rng = random.Random(1)  # each result of these sessions is looked at while it is young, mostly
        weights = fit([row for other in sessions if other is not held for row in rows_of(other, RULES, rng)])
        chances, was = judged(weights, rows_of(held, RULES, rng))
        surprises.append(log_loss(chances, was) * len(was))
        labels += was
    assert learn(sessions, RULES)["learnt"]["log_loss"] == pytest.approx(sum(surprises) / len(labels), rel=0.1)


def test_sessions_without_a_need_teach_nothing():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.request()
    with pytest.raises(ValueError, match="needed again"):
        learn([builder.session, builder.session], RULES)
    with pytest.raises(ValueError, match="two sessions"):
        learn([], RULES)


def test_a_single_session_teaches_nothing_because_no_other_can_judge_it():
    with pytest.raises(ValueError, match="two sessions"):
        learn([_taught(1)], RULES)


def test_the_script_writes_a_model_that_tells_recorded_sessions_apart(transcripts, repo_root, tmp_path):
    folder, out = tmp_path / "sessions", tmp_path / "model.json"
    folder.mkdir()
    for path in transcripts.rglob("PackmindHub*.jsonl"):
        (folder / path.name).symlink_to(path)
    command = [sys.executable, "benchmarks/lab/fitting.py", "--transcripts", folder, "--out", out]
    learnt = json.loads(subprocess.run(command, cwd=repo_root, capture_output=True, text=True, check=True).stdout)
    plain = json.loads(out.read_text())
    assert plain["learnt"] == learnt
    assert learnt["auc"] > 0.75
    assert model_of(plain).weights["quiet"] < 0


def test_survival_counts_quiet_spells_and_which_of_them_ended_in_a_need(tmp_path, repo_root) -> None:
    transcript = Transcript()
    transcript.prompt("begin")
    transcript.first("t1", 10)
    transcript.result("t1", filled(100, "src/module_1/handler.ts"))
    for number in range(2, 6):  # requests 2 to 5; the fourth needs the result
        transcript.answer("see src/module_1/handler.ts" if number == 4 else "go on", f"m{number}")
        transcript.prompt("and then")
    # Quiet before requests 2 and 3, needed by the fourth; then quiet for one more, to the end.
    marks = survival(sent_requests.read(transcript.write(tmp_path / "s.jsonl")))
    assert list(marks.values()) == [[[2, 1], [2, 1], [1, 1], *[[0, 0]] * 6]]
    command = [sys.executable, "benchmarks/lab/survival.py", "--transcripts", tmp_path]
    shown = subprocess.run(command, cwd=repo_root, capture_output=True, text=True, check=True).stdout
    assert "  50.0%  50.0% 100.0%\n" in "".join(line.rstrip() + "\n" for line in shown.splitlines())
