"""`popkit lab learn`: what a user's sessions, or a project's, teach is kept where it tells more than what holds without it, and can be
undone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from hooks.utils.state import learnt
from popkit_retention.cli.main import main
from popkit_retention.cli.sessions import folder_name
from tests.lab.test_survey import session
from tests.lab.told import Told, filled


def needing(path: Path, everything: bool) -> None:
    """A session whose last answer names what every result held, or nothing of it."""
    told = Told()
    told.prompt(filled(100))
    told.first("t0", 100)
    told.result("t0", filled(200, "src/module_0/handler.ts"))
    for number in range(1, 30):
        told.wait(20)
        told.call(f"t{number}", message=f"m{number}")
        told.result(f"t{number}", filled(200, f"src/module_{number}/handler.ts"))
    told.answer(" ".join(f"src/module_{number}/handler.ts" for number in range(30)) if everything else "done", "last")
    path.parent.mkdir(parents=True, exist_ok=True)
    told.write(path)


class User:
    """A user with two projects: `shop` has three sessions and a subagent's, all alike, `forum` four that contradict each other."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture):
        self.capsys = capsys
        self.shop, self.forum = folder / "shop", folder / "forum"
        self.ours = str(folder / "claude" / "popkit")
        self.environ = {"CLAUDE_CONFIG_DIR": str(folder / "claude"), "HOME": str(folder)}
        self.shop.mkdir()
        self.forum.mkdir()
        session(self.sessions(self.shop) / "one.jsonl", 30, 1)
        session(self.sessions(self.shop) / "two.jsonl", 16, 3)
        session(self.sessions(self.shop) / "five.jsonl", 20, 5)
        session(self.sessions(self.shop) / "two" / "subagents" / "agent-a1.jsonl", 12, 2)
        needing(self.sessions(self.forum) / "three.jsonl", True)
        needing(self.sessions(self.forum) / "four.jsonl", False)
        needing(self.sessions(self.forum) / "six.jsonl", True)
        needing(self.sessions(self.forum) / "seven.jsonl", False)

    def sessions(self, project: Path) -> Path:
        return Path(self.environ["CLAUDE_CONFIG_DIR"]) / "projects" / folder_name(str(project))

    def learn(self, *words: object) -> tuple[int, str, str]:
        """(exit code, what was printed, errors on one line)."""
        code = main(["lab", "learn", *map(str, words)], self.environ)
        shown, err = self.capsys.readouterr()
        assert all(len(line) <= 76 for line in shown.splitlines() if not line.startswith("{"))
        return code, shown, " ".join(err.split())

    def source(self, project: Path | None = None) -> str:
        return learnt.load(self.ours, str(project or "")).source

    def written(self) -> set[str]:
        return {path.parent.name for path in Path(self.ours).rglob(learnt.NAME)}


@pytest.fixture
def user(tmp_path: Path, capsys: pytest.CaptureFixture) -> User:
    return User(tmp_path, capsys)


def says(shown: str, said: str) -> bool:
    """Whether this was printed, wherever the lines were broken."""
    return "".join(said.split()) in "".join(shown.split())


def numbers(shown: str, name: str) -> tuple[float, float]:
    """(AUC, log loss) in a line of what was printed."""
    auc, loss = re.search(rf"^{name} +AUC (\d\.\d\d), log loss (\d\.\d{{4}}):", shown, re.MULTILINE).groups()
    return float(auc), float(loss)


def test_what_tells_more_is_written_and_it_is_said_how_much_more_and_how_to_go_back(user) -> None:
    code, shown, err = user.learn(user.sessions(user.shop))
    assert (code, err) == (0, "")
    assert re.search(r"^Sessions  4, \d+ looks at a result$", shown, re.MULTILINE)
    assert numbers(shown, "Learnt")[1] < numbers(shown, "Before")[1]
    assert "the shipped model" in shown
    path = learnt.model_path(user.ours)
    assert says(shown, f"Model {path} Go back")
    assert shown.endswith("Go back   popkit lab learn --undo\n")
    known = learnt.load(user.ours)
    assert known.source == "user"
    assert set(known.about) == {"sessions", "rows", "auc", "auc_before", "log_loss", "log_loss_before"}
    assert Path(path).stat().st_mode & 0o777 == 0o600


def test_without_paths_all_sessions_teach(user) -> None:
    assert "Sessions  8, " in user.learn("--force")[1]


def test_what_tells_no_more_is_not_written_unless_it_is_forced(user) -> None:
    code, shown, err = user.learn(user.sessions(user.forum))
    assert (code, err) == (0, "")
    assert numbers(shown, "Learnt")[1] > numbers(shown, "Before")[1]
    assert "not written" in shown
    assert "--force" in shown
    assert "--undo" not in shown
    assert user.written() == set()
    code, shown, _ = user.learn(user.sessions(user.forum), "--force")
    assert code == 0
    assert says(shown, "although it is not better than before")
    assert user.source() == "user"


def test_what_was_learnt_earlier_stays_where_the_new_tells_no_more(user) -> None:
    user.learn(user.sessions(user.shop))
    earlier = learnt.load(user.ours).about
    _, shown, _ = user.learn(user.sessions(user.forum))
    assert says(shown, f"What was learnt earlier stays: {learnt.model_path(user.ours)}")
    assert learnt.load(user.ours).about == earlier


def test_the_same_sessions_teach_the_same_again_for_the_users_model_is_no_beginning(user) -> None:
    user.learn(user.sessions(user.shop))
    first = learnt.load(user.ours)
    user.learn(user.sessions(user.shop))
    again = learnt.load(user.ours)
    assert (again.model.weights, again.about) == (first.model.weights, first.about)


def test_a_file_that_is_named_is_written_in_any_case_and_nothing_else(user, tmp_path) -> None:
    out = tmp_path / "model.json"
    code, shown, _ = user.learn(user.sessions(user.forum), "--out", out)
    assert code == 0
    assert says(shown, f"Model {out}")
    assert "--undo" not in shown
    assert json.loads(out.read_text())["weights"]
    assert out.stat().st_mode & 0o777 == 0o600
    assert user.written() == set()


def test_a_file_that_cannot_be_written_is_refused_before_the_run(user, tmp_path) -> None:
    code, shown, err = user.learn("--out", tmp_path / "nowhere" / "model.json")
    assert (code, shown) == (1, "")
    assert "cannot be written" in err


def test_from_nothing_the_shipped_model_is_only_compared_with(user, tmp_path) -> None:
    anew, further = tmp_path / "anew.json", tmp_path / "further.json"
    user.learn(user.sessions(user.shop), "--out", anew, "--from-nothing")
    user.learn(user.sessions(user.shop), "--out", further)
    anew, further = json.loads(anew.read_text()), json.loads(further.read_text())
    assert "kind tasks" not in anew["weights"], "of which there are none in these sessions"
    assert further["weights"]["kind tasks"] == learnt.shipped().model.weights["kind tasks"]
    assert anew["learnt"]["log_loss_before"] == further["learnt"]["log_loss_before"]


def test_json_tells_the_same(user) -> None:
    code, shown, _ = user.learn(user.sessions(user.shop), "--json")
    told = json.loads(shown)
    assert code == 0
    assert told["learnt"] == learnt.load(user.ours).about
    assert (told["written"], told["better"], told["before"]) == (learnt.model_path(user.ours), True, "shipped")
    told = json.loads(user.learn(user.sessions(user.forum), "--json")[1])
    assert (told["written"], told["better"]) == (None, False)
    told = json.loads(user.learn("--undo", "--json")[1])
    assert (told["removed"], told["holds"]) == (learnt.model_path(user.ours), "shipped")


# --- a project -----------------------------------------------------------------------------------------------------------------------


def test_a_project_learns_from_its_own_sessions_and_for_itself_alone(user) -> None:
    code, shown, err = user.learn("--project", user.shop)
    assert (code, err) == (0, "")
    assert says(shown, f"Project {user.shop} Sessions 4,"), "a subagent's is one of them"
    assert says(shown, f"popkit lab learn --undo --project {user.shop}")
    assert (user.source(user.shop), user.source(user.forum), user.source()) == ("project", "shipped", "shipped")


def test_the_project_is_that_of_the_current_folder_or_of_the_nearest_one_above_it_that_has_sessions(user) -> None:
    (user.shop / "src" / "deep").mkdir(parents=True)
    before = Path.cwd()
    os.chdir(user.shop / "src" / "deep")
    try:
        code, shown, _ = user.learn("--project")
    finally:
        os.chdir(before)
    assert code == 0
    assert says(shown, f"Project {user.shop} Sessions 4,")
    assert shown.endswith("popkit lab learn --undo --project\n")
    assert user.source(user.shop) == "project"


def test_a_project_is_compared_with_the_users_model_where_there_is_one(user) -> None:
    user.learn(user.sessions(user.shop))
    _, shown, _ = user.learn("--project", user.forum, "--force")
    assert says(shown, "the model learnt from all sessions")
    assert learnt.load(user.ours, str(user.forum)).about["log_loss_before"] == numbers(shown, "Before")[1]
    assert json.loads(user.learn("--project", user.forum, "--json")[1])["before"] == "user"


def test_a_users_model_that_is_damaged_is_passed_over_and_that_is_said(user) -> None:
    Path(user.ours).mkdir()
    Path(learnt.model_path(user.ours)).write_text("{")
    _, shown, _ = user.learn("--project", user.shop)
    assert says(shown, "need-model.json: not JSON")
    assert numbers(shown, "Before") == numbers(user.learn(user.sessions(user.shop))[1], "Before"), "those of the shipped model"
    assert user.source() == "user", "a damaged file is replaced"


def test_paths_can_be_named_for_a_project_that_has_no_sessions(user, tmp_path) -> None:
    code, shown, err = user.learn("--project", tmp_path / "new")
    assert (code, shown) == (1, "")
    assert "Name transcripts before --project" in err
    assert user.learn(user.sessions(user.shop), "--project", tmp_path / "new")[0] == 0
    assert user.source(tmp_path / "new") == "project"


def test_a_transcript_in_the_place_of_the_folder_is_refused(user) -> None:
    code, _, err = user.learn("--project", user.sessions(user.shop) / "one.jsonl")
    assert code == 1
    assert "--project takes a folder" in err


# --- going back ------------------------------------------------------------------------------------------------------------------------


def test_undo_removes_what_was_learnt_and_says_what_holds_now(user) -> None:
    user.learn(user.sessions(user.shop))
    user.learn("--project", user.shop, "--force")
    code, shown, _ = user.learn("--undo", "--project", user.shop)
    assert code == 0
    assert "What holds now: the model learnt from all sessions." in shown
    assert (user.source(user.shop), user.source()) == ("user", "user")
    assert "What holds now: the shipped model." in user.learn("--undo")[1]
    assert user.source() == "shipped"


def test_fewer_than_four_sessions_cannot_judge_a_model(user) -> None:
    (user.sessions(user.shop) / "five.jsonl").unlink()
    code, shown, _ = user.learn("--project", user.shop)
    assert code == 0
    assert says(shown, "not written: fewer than 4 sessions cannot judge it. --force writes it anyway.")
    assert user.written() == set()
    user.learn("--project", user.shop, "--force")
    assert user.source(user.shop) == "project"


def test_undo_where_nothing_was_learnt_says_so(user) -> None:
    code, shown, err = user.learn("--undo")
    assert (code, err) == (0, "")
    assert "No model has been learnt from all sessions" in shown
    assert "What holds: the shipped model." in shown
    code, shown, _ = user.learn("--undo", "--project", user.shop)
    assert code == 0
    assert says(shown, f"No model has been learnt from the sessions of {user.shop}: there is no {user.ours}/projects/")


def test_undo_learns_nothing(user) -> None:
    user.learn(user.sessions(user.shop))
    with pytest.raises(SystemExit) as ended:
        user.learn("--undo", "--force")
    assert ended.value.code == 2
    assert user.source() == "user"


# --- what cannot be ----------------------------------------------------------------------------------------------------------------------


def test_what_was_left_out_is_counted_with_its_reason(user) -> None:
    (user.sessions(user.shop) / "empty.jsonl").write_text("")
    assert re.search(r"^Left out  1: empty$", user.learn("--project", user.shop)[1], re.MULTILINE)


def test_there_is_too_little_to_learn_from_without_sessions_or_with_one(user, tmp_path) -> None:
    (tmp_path / "bare").mkdir()
    code, _, err = user.learn(tmp_path / "bare")
    assert code == 1
    assert "too little to learn from: it takes two sessions" in err
    assert "Name more transcripts" in err
    code, _, err = user.learn(user.sessions(user.shop) / "one.jsonl", tmp_path / "gone.jsonl", "--force")
    assert code == 1
    assert "No such file" in err
    assert user.written() == set()


def test_the_lab_goes_by_the_shipped_model_whatever_was_learnt(user) -> None:
    def shown() -> dict:
        assert main(["lab", "--policy", "auto", "--json", "--jobs", "1"], user.environ) == 0
        return json.loads(user.capsys.readouterr().out)["ttls"]

    before = shown()
    user.learn(user.sessions(user.shop), "--from-nothing", "--force")
    assert user.source() == "user"
    assert shown() == before
