"""`popkit lab --parquet`: the rows of a survey as a table that others can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from popkit_retention.lab import parquet_rows, survey
from popkit_retention.parallel.sources import DAMAGED
from tests.lab.test_survey import NAMES, session
from tests.paths import ROOT

read_table = pytest.importorskip("pyarrow.parquet").read_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session(tmp_path / "-shop" / "one.jsonl", 30, 1)
    session(tmp_path / "-forum" / "two.jsonl", 16, 3)
    (tmp_path / "-forum" / "noise.jsonl").write_text("no conversation\n")
    return tmp_path


def test_there_is_a_row_per_session_lifetime_and_policy_and_per_left_out_session(folder: Path, capsys) -> None:
    out = folder / "survey.parquet"
    words = ["lab", str(folder), "--policy", *NAMES, "--ttl", "both", "--jobs", "1", "--parquet", str(out)]
    assert main(words, {"HOME": str(folder)}) == 0
    assert str(out) in capsys.readouterr().err
    table = read_table(out)
    assert table.schema.names == list(parquet_rows.COLUMNS)
    rows = table.to_pylist()
    keys = [(Path(row["session"]).stem, row["cache_ttl_s"], row["policy"]) for row in rows if row["left_out"] is None]
    assert sorted(keys) == sorted(
        (name, ttl_s, policy) for name in ("one", "two") for ttl_s in (300, 3_600) for policy in ("nothing", *NAMES)
    )
    assert [(Path(row["session"]).stem, row["left_out"], row["cost"]) for row in rows if row["left_out"]] == [("noise", DAMAGED, None)]
    assert out.stat().st_mode & 0o777 == 0o600
    task = survey.row_of(str(folder / "-shop" / "one.jsonl"), ["nothing", *NAMES], [3_600])
    (one,) = (row for row in rows if (Path(row["session"]).stem, row["cache_ttl_s"], row["policy"]) == ("one", 3_600, "spec"))
    scores = task.scores[3_600]
    assert {name: one[name] for name in scores["spec"]._fields} == scores["spec"]._asdict()
    assert one["cost_share"] == scores["spec"].cost / scores["nothing"].cost


def test_a_run_that_ends_with_an_error_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyError), parquet_rows.Parquet(str(tmp_path / "out.parquet")):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_every_column_is_explained() -> None:
    text = (ROOT / "docs" / "lab.md").read_text()
    assert [name for name in parquet_rows.COLUMNS if f"`{name}`" not in text] == []
