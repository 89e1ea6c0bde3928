"""`popkit uninstall` deletes what PopKit has stored, on the user's word alone, and says first what that costs."""

from __future__ import annotations

import json

import pytest

from tests.reclaim.shops import EXPIRED, SESSION, Shop, worked

QUESTION = "Delete what PopKit has stored? [y/N]"


@pytest.fixture
def cleared(shop: Shop) -> Shop:
    """A session from which something was cleared; the user has a configuration file, and a file of theirs in our folder."""
    shop.original = shop.write(worked(str(shop.project)))
    shop.clear()
    (shop.home / "mine.txt").write_text("precious")
    (shop.home / "sessions" / SESSION / "original.jsonl").write_bytes(shop.original)  # an earlier version kept it
    assert shop.context("undo").code == 0, "which is noted, beside the state"
    return shop


def names(shop: Shop) -> set[str]:
    return {path.name for path in shop.home.iterdir()}


STORED = {"archive.sqlite", "sessions"}


def test_a_dry_run_says_what_would_go_and_changes_nothing(cleared: Shop):
    before, transcript = names(cleared), cleared.transcript.read_bytes()
    done = cleared.popkit("uninstall", "--dry-run")
    output = " ".join(done.out.split())
    assert done.code == 0, done
    assert "archive" in output
    assert "kept originals" in output
    assert "3 placeholders in 1 session could no longer be restored" in output
    assert all(handle in output for handle in cleared.cleared().values())
    assert "To put their contents back first: /popkit undo" in output
    assert (names(cleared), cleared.transcript.read_bytes()) == (before, transcript)
    answer = cleared.popkit("uninstall", "--dry-run", "--json").json
    assert answer["placeholders"] == {str(cleared.transcript): sorted(cleared.cleared().values())}
    assert answer["parts"]["kept originals"]["bytes"] == len(cleared.original)
    assert answer["deleted"] == []


@pytest.mark.parametrize(("answers", "code", "deleted"), [("", 1, False), ("n\n", 1, False), ("y\n", 0, True)])
def test_it_asks_whether_to_delete_and_leaves_transcripts_alone(cleared: Shop, answers: str, code: int, deleted: bool):
    before = cleared.transcript.read_bytes()
    done = cleared.popkit("uninstall", payload=answers)
    assert done.code == code, done
    assert QUESTION in done.out
    assert cleared.transcript.read_bytes() == before
    assert (not STORED & names(cleared)) == deleted
    assert ("claude plugin uninstall popkit@popkit" in done.out) == deleted


def test_what_popkit_has_not_made_and_the_users_configuration_stay(cleared: Shop):
    assert cleared.popkit("uninstall", "--yes").code == 0
    assert names(cleared) == {"mine.txt", "retention-config.json"}
    assert set(cleared.cleared()) == EXPIRED, "--yes does not touch transcripts"


def test_an_empty_folder_goes_too(cleared: Shop):
    (cleared.home / "mine.txt").unlink()
    (cleared.home / "retention-config.json").unlink()
    assert cleared.popkit("uninstall", "--yes").code == 0
    assert not cleared.home.exists()
    done = cleared.popkit("uninstall", "--yes")
    assert (done.code, "There is nothing in" in done.out, "Deleted" in done.out) == (0, True, False)


def test_a_placeholder_counts_where_the_conversation_has_it_and_nowhere_else(cleared: Shop):
    """Claude Code writes down what it sent, and a result may quote a transcript: after an undo nothing stands for anything."""
    rows = [json.loads(line) for line in cleared.transcript.read_text().splitlines()]
    holding = [row for row in rows if "[PopKit cleared " in json.dumps(row)]
    sent = [{"type": kind, "body": json.dumps(row["message"]), "messages": [row["message"]]} for row in holding
            for kind in ("api-request-blob", "api-request-shape")]  # fmt: skip
    quoted = [{"type": "tool_result", "tool_use_id": "toolu_q", "content": "1\t" + json.dumps(row)} for row in holding]
    quoting = {"type": "user", "uuid": "q", "parentUuid": rows[-1]["uuid"], "message": {"role": "user", "content": quoted}}
    cleared.transcript.write_bytes(cleared.original)
    with cleared.transcript.open("a") as file:
        file.writelines(json.dumps(each, separators=(",", ":")) + "\n" for each in (*sent, quoting))
    answer = cleared.popkit("uninstall", "--dry-run", "--json").json
    assert answer["placeholders"] == {}
    assert cleared.popkit("restore", "prune", "--older-than", "0h", "--dry-run", "--json").json["placeholders"] == {}


def test_as_data_it_needs_a_yes(cleared: Shop):
    done = cleared.popkit("uninstall", "--json")
    assert (done.code, "--yes" in done.json["error"]) == (1, True)
    assert names(cleared) >= STORED
    answer = cleared.popkit("uninstall", "--json", "--yes").json
    assert set(answer["deleted"]) >= STORED
    assert answer["left"] == ["mine.txt", "retention-config.json"]
    assert answer["then"][0] == "claude plugin uninstall popkit@popkit"


def test_the_status_line_goes_and_the_one_of_before_comes_back(cleared: Shop):
    settings = cleared.claude / "settings.json"
    before = {"statusLine": {"type": "command", "command": "echo mine"}, "model": "opus"}
    settings.write_text(json.dumps(before))
    assert cleared.popkit("statusline", "install", "--yes", "--replace").code == 0
    assert json.loads(settings.read_text()) != before
    assert cleared.popkit("uninstall", "--yes").code == 0
    assert json.loads(settings.read_text()) == before
