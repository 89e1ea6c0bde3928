"""The door in the lab: results enter as policy/door lets them, under any policy of what is cleared later. On recorded sessions it is
judged by what shares no code with it: a reader of its references, and a list of what failures are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import reference_decoder
from popkit_retention.core.policy import door
from popkit_retention.core.policy.door import informative
from popkit_retention.core.policy.door.rules import ANY, OFF, READS, SAFE, STRONG
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure
from popkit_retention.lab.door_policy import DOOR_SWITCHES, Door
from popkit_retention.lab.policy import Policy
from popkit_retention.lab.recorded import tokens_of
from tests.lab.session_builder import SessionBuilder
from tests.lab.transcripts import Script
from tests.policy.priced import prices


def numbered(name: str, count: int = 60) -> str:
    return "\n".join(f"{at:>6}→    {name}_{at} = configure('{name}', step={at})" for at in range(1, count + 1))


def policy(say_once: str = READS, shape: str = OFF, then: Policy | None = None) -> Door:
    return Door(shipped.rules(), then, door.Settings(say_once, shape))


def _twice(between=lambda builder: None) -> SessionBuilder:
    """A file that is read (T1), and read again (the last result)."""
    builder = SessionBuilder()
    builder.result("Read", numbered("a"), file_path="/p/a.py")
    builder.requests(2)
    between(builder)
    builder.result("Read", numbered("a"), file_path="/p/a.py", limit=60)
    builder.requests(2)
    return builder


def test_a_second_read_enters_as_a_reference_and_shrinks_the_prompt():
    builder = _twice()
    played, whole = builder.under(policy()), builder.under(Policy())
    lines = numbered("a").split("\n")
    assert list(played.entered) == ["T2"]
    entered = played.entered["T2"].split("\n")
    assert [entered[0], entered[2]] == [lines[0], lines[-1]]
    assert entered[1].startswith("[lines 2–59 as in your Read of /p/a.py above: ")
    spared = tokens_of(len(numbered("a"))) - tokens_of(len(played.entered["T2"]))
    assert (played.score.shortened, played.score.spared_tokens) == (1, spared)
    assert [big - small for big, small in zip(whole.score.curve, played.score.curve)] == [0, 0, spared, spared]
    assert played.score.cost < whole.score.cost
    assert (played.score.missed, played.score.cleared) == (0, 0)


def test_with_off_nothing_is_changed():
    builder = _twice()
    played, whole = builder.under(policy(OFF)), builder.under(Policy())
    assert played.entered == {}
    assert (played.score.cost, played.score.curve) == (whole.score.cost, whole.score.curve)


@pytest.mark.parametrize("gone", [lambda builder: builder.compact(), lambda builder: builder.cut(0)])
def test_no_reference_depends_on_a_result_that_a_compaction_or_a_rewind_removed(gone):
    assert _twice(gone).under(policy()).entered == {}


def test_no_reference_depends_on_a_cleared_result():
    played = _twice().under(policy(then=Script({2: {"T1": "[gone]"}})))
    assert (played.cleared, played.entered) == (["T1"], {})


def test_a_result_that_a_reference_depends_on_is_cleared_only_together_with_it():
    assert _twice().under(policy(then=Script({4: {"T1": "[gone]"}}))).cleared == []
    assert _twice().under(policy(then=Script({4: {"T1": "[gone]", "T2": "[gone too]"}}))).cleared == ["T1", "T2"]


def test_once_its_reference_is_gone_a_result_may_be_cleared():
    assert _twice().under(policy(then=Script({3: {"T2": "[gone]"}, 4: {"T1": "[gone too]"}}))).cleared == ["T2", "T1"]


def test_keeping_a_result_keeps_everything_that_it_depends_on():
    builder = SessionBuilder()
    first, second = numbered("a"), numbered("b")
    builder.result("Read", first, file_path="/p/a.py")
    builder.result("Bash", first + "\n" + second, command="./show")
    builder.result("Bash", second, command="./show b")
    builder.requests(2)
    played = builder.under(policy(ANY, then=Script({2: {"T1": "[gone]", "T2": "[gone]"}})))
    assert list(played.entered) == ["T2", "T3"]
    assert played.cleared == []


def test_the_same_call_made_at_once_again_enters_whole():
    builder = _twice()
    builder.result("Read", numbered("a"), file_path="/p/a.py", limit=60)
    builder.result("Read", numbered("a"), file_path="/p/a.py", limit=60)
    builder.request()
    assert list(builder.under(policy()).entered) == ["T2", "T4"]


def test_a_string_left_out_at_the_door_is_a_miss_only_if_nothing_else_shows_it():
    builder = SessionBuilder()
    whole = builder.result("Read", numbered("a"), file_path="/p/a.py")
    again = builder.result("Read", numbered("a"), file_path="/p/a.py", limit=60)
    builder.request()
    builder.session.requests[-1].needs = [("a_30 = configure('a', step=30)", [whole, again])]
    assert builder.under(policy()).score.missed == 0

    class Half(Policy):
        def enter(self, block):
            return block.text[:100]

    played = builder.under(Half())
    assert played.score.missed == 1
    assert played.score.missed_tokens == again.tokens


def test_what_write_and_edit_have_written_is_known_to_any_alone():
    builder = SessionBuilder()
    written = "\n".join(line.partition("→")[2] for line in numbered("a").split("\n"))
    builder.result("Write", "File created", file_path="/p/a.py", content=written)
    builder.result("Read", numbered("a"), file_path="/p/a.py")
    builder.request()
    assert builder.under(policy(READS)).entered == {}
    assert list(builder.under(policy(ANY)).entered) == ["T2"]


def test_the_same_line_in_a_row_enters_once_with_its_count():
    builder = SessionBuilder()
    log = "\n".join(["Waiting for the server"] * 40)
    builder.bash("./wait", chars=0, text=log)
    builder.request()
    entered = builder.under(policy(OFF, SAFE)).entered
    assert entered == {"T1": "Waiting for the server\n[the line above stands 40 times in a row]"}


def test_an_output_over_its_budget_enters_as_the_door_tells_it_with_the_handle():
    builder = SessionBuilder()
    text = "\n".join(f"row {at}: copied" for at in range(400))
    block = builder.bash("./copy", chars=0, text=text)
    again = builder.bash("./copy", chars=0, text=text)
    builder.request()
    builder.session.requests[-1].needs = [("row 200: copied", [block])]
    played = builder.under(policy(OFF, STRONG))
    assert played.entered == {"T1": informative.shorten(text, "other", False, block.handle).text}
    assert again.id not in played.entered
    assert (played.score.missed, played.score.missed_tokens) == (1, block.tokens)


def test_an_entry_is_reported_at_the_request_that_first_carries_it():
    entries = []
    builder = _twice()
    measure.score(builder.session, policy(), prices(), lambda request, decisions, entered: entries.append((request.number, len(entered))))
    assert entries == [(1, 0), (2, 0), (3, 1), (4, 0)]


def test_a_reader_of_the_context_sees_what_stands_on_a_branch_that_goes_on() -> None:
    reader = reference_decoder.Reader("/shop")
    for id in "abc":
        reader.sees(id, "Read", {"file_path": f"/shop/{id}.ts"}, "1\tone line")
    reader.sees_cleared(["b"])
    assert reader.stands(["a"]) == {"b", "c"}
    reader.sees("d", "Read", {"file_path": "/shop/d.ts"}, "1\tone line")
    assert reader.stands(["a", "b", "c"]) == {"d"}
    assert list(reader.calls) == ["a", "b", "c"]
    assert set(reader.left) == {"b", "d"}, "what was cleared is not back"


# --- on recorded sessions -----------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
# Each way to refer, and the most of it beside each way to leave out what says little.
REFERRING, SHAPING = DOOR_SWITCHES["say_once"], DOOR_SWITCHES["shape"]
DOORS = [*REFERRING, *(f"{REFERRING[-1]}+{shape}" for shape in SHAPING)]


@pytest.fixture(scope="module")
def folder(transcripts: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the recorded sessions; with --slow all of them."""
    recorded = tmp_path_factory.mktemp("recorded")
    for path in sorted(transcripts.rglob("*.jsonl"))[:: 1 if request.config.getoption("--slow") else 18]:
        (recorded / "__".join(path.relative_to(transcripts).parts)).symlink_to(path)
    return recorded


def _run(script: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"benchmarks/{script}.py", "--transcripts", str(folder), "--door", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_reference_leads_whoever_sees_the_context_alone_to_its_lines(folder: Path) -> None:
    output = _run("held_out", folder, *DOORS).stdout
    counts = [list(map(int, re.findall(r"\d+", line))) for line in output.splitlines() if " references: " in line]
    assert [(total > 50, *found) for total, *found in counts] == [(True, 0, 0, 0, 0)] * len(DOORS), output


@pytest.mark.parametrize("door", [SHAPING[-1], *(f"{REFERRING[-1]}+{shape}" for shape in SHAPING)])
def test_no_line_that_tells_of_a_failure_is_left_out(folder: Path, door: str) -> None:
    done = _run("hidden_failures", folder, door)
    failing = re.search(r"\((\d+) of them tell of failures\)", done.stdout)
    assert (done.returncode, failing is not None and int(failing[1]) > 5) == (0, True), done.stdout + done.stderr
