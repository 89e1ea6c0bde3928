"""Which model of need holds: the nearest that can be used, and nothing that lies in a learnt file is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.edges import home
from hooks.utils.policy.need import FEATURES, SCHEMA, NeedModel
from hooks.utils.state import learnt
from popkit_retention.lab.auto_policy import shipped_model
from popkit_retention.lab.fitting import learn
from tests.lab.test_fitting import _taught

PROJECT = "/home/x/shop"


def put(path: str, value: object) -> None:
    """Writes a learnt file: a model's plain values, or any text or bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    data = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
    Path(path).write_bytes(data)


def model(bias: float) -> dict:
    return {"schema": SCHEMA, "weights": {"bias": bias}, "learnt": {"sessions": 3}}


def test_where_nothing_was_learnt_the_shipped_model_holds(tmp_path) -> None:
    for known in (learnt.load(str(tmp_path)), learnt.load(str(tmp_path), PROJECT), learnt.load(str(tmp_path / "nowhere"), PROJECT)):
        assert (known.source, known.trouble) == ("shipped", "")
        assert known.model.weights == shipped_model().weights
        assert known.about["sessions"] > 100


def test_a_projects_model_is_nearer_than_the_users_and_that_nearer_than_the_shipped_one(tmp_path) -> None:
    ours = str(tmp_path)
    put(learnt.model_path(ours), model(1.0))
    assert (learnt.load(ours, PROJECT).source, learnt.load(ours, PROJECT).model.weights) == ("user", {"bias": 1.0})
    put(learnt.model_path(ours, PROJECT), model(2.0))
    assert (learnt.load(ours, PROJECT).source, learnt.load(ours, PROJECT).model.weights) == ("project", {"bias": 2.0})
    assert learnt.load(ours, PROJECT).about == {"sessions": 3}
    assert learnt.load(ours, PROJECT + "/src").source == "user", "another project"
    assert learnt.load(ours).source == "user"


DAMAGED = {
    "empty": ("", "not JSON"),
    "cut": (json.dumps(model(1.0))[:20], "not JSON"),
    "noise": (b"\xff\xfe\x00\x01", "not JSON"),
    "deep": ("[" * 50_000, "not JSON"),
    "list": ([], f"schema {SCHEMA}"),
    "newer": ({"schema": SCHEMA + 1, "weights": {"bias": 1.0}}, f"schema {SCHEMA}"),
    "older": ({"schema": SCHEMA - 1, "weights": {"bias": 1.0}}, f"schema {SCHEMA}"),
    "bare": ({"schema": SCHEMA, "weights": {}}, f"schema {SCHEMA}"),
    "unknown": ({"schema": SCHEMA, "weights": {"luck": 1.0}}, "luck"),
    "wild": ({"schema": SCHEMA, "weights": {"bias": 1e9}}, "bias"),
    "null": (json.dumps(model(float("nan"))), "bias"),
    "huge": (json.dumps(model(1.0)) + " " * 70_000, "64 KB"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_model_is_passed_over_with_its_trouble_and_the_next_one_holds(name, tmp_path) -> None:
    damage, why = DAMAGED[name]
    ours = str(tmp_path)
    put(learnt.model_path(ours, PROJECT), damage)
    known = learnt.load(ours, PROJECT)
    assert known.source == "shipped"
    assert known.trouble.startswith(learnt.model_path(ours, PROJECT) + ": ")
    assert why in known.trouble
    put(learnt.model_path(ours), model(1.0))
    assert learnt.load(ours, PROJECT).source == "user"
    assert why in learnt.load(ours, PROJECT).trouble
    put(learnt.model_path(ours), damage)
    assert learnt.load(ours, PROJECT).source == "shipped"
    assert learnt.load(ours, PROJECT).trouble.count("need-model.json: ") == 2


def test_a_folder_in_the_place_of_a_model_is_passed_over(tmp_path) -> None:
    Path(learnt.model_path(str(tmp_path))).mkdir()
    assert learnt.load(str(tmp_path)).source == "shipped"
    assert "not a regular file" in learnt.load(str(tmp_path)).trouble


def test_a_damaged_model_behind_one_that_can_be_used_is_no_trouble_for_what_holds(tmp_path) -> None:
    put(learnt.model_path(str(tmp_path), PROJECT), model(2.0))
    assert (learnt.load(str(tmp_path), PROJECT).source, learnt.load(str(tmp_path), PROJECT).trouble) == ("project", "")


@given(weights=st.dictionaries(st.sampled_from(FEATURES), st.floats(-900, 900).filter(lambda value: round(value, 4)), min_size=1))
def test_a_model_that_is_written_is_read_again(weights, tmp_path_factory) -> None:
    ours = str(tmp_path_factory.getbasetemp() / "round-trip")
    put(learnt.model_path(ours), NeedModel(weights).to_json())
    known = learnt.load(ours)
    assert known.model.weights == {name: round(weight, 4) for name, weight in weights.items()}
    assert (known.source, known.about, known.trouble) == ("user", {}, "")


def test_what_is_learnt_is_read_again(tmp_path) -> None:
    plain = learn([_taught(1), _taught(2)], prior=shipped_model().weights)
    put(learnt.model_path(str(tmp_path)), plain)
    known = learnt.load(str(tmp_path))
    assert (known.model.to_json(), known.about) == ({"schema": SCHEMA, "weights": plain["weights"]}, plain["learnt"])


@pytest.mark.parametrize("project", ["/", "..", "../../etc", "/a/../..", "a" * 5_000, "/caf\u00e9", "/\udcff", "/a\nb"])
def test_a_projects_folder_is_below_ours_whatever_its_name(project) -> None:
    folder, _, name = home.project_folder("/ours", project).rpartition("/")
    assert folder == "/ours/projects"
    assert name
    assert name not in (".", "..")
    assert name.isascii()


def test_a_model_is_removed_once(tmp_path) -> None:
    ours = str(tmp_path)
    put(learnt.model_path(ours), model(1.0))
    put(learnt.model_path(ours, PROJECT), model(2.0))
    assert learnt.remove(ours, PROJECT)
    assert not learnt.remove(ours, PROJECT)
    assert learnt.load(ours, PROJECT).source == "user"
    assert learnt.remove(ours)
    assert learnt.load(ours, PROJECT).source == "shipped"
