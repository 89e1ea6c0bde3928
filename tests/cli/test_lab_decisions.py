"""`popkit lab --decisions`: what a policy would have cleared, a line for each request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.cli import lab_command
from popkit_retention.cli.main import main
from popkit_retention.lab import sessions
from popkit_retention.lab.policies import POLICIES
from tests.lab.test_own_policies import written
from tests.lab.transcripts import Script, Transcript, filled
from tests.policy.priced import prices
from tests.views.written import Written


def _transcript() -> Transcript:
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.first("a", visible=100)
    transcript.result("a", filled(500))
    transcript.call("b")
    transcript.result("b", filled(400))
    transcript.answer(filled(10), "m-3")
    return transcript


NO_MODEL = "an unknown model, which the table of models does not name (read 0.025, write 1.25, output 5, thinking bound)"
PAUSE_S = 4_000.0  # longer than any cache lives


def _long(folder: Path) -> Written:
    """Files that are read and edited at once, again and again: every rule finds something to clear."""
    written = Written(folder)
    written.say("go")
    for number in range(60):
        if number % 20 == 19:
            written.now += PAUSE_S
            written.say("go on")
        written.call("Read", {"file_path": f"{written.project}/src/{number}.ts"}, f"1\tfile {number}\n" * 900)
        written.edit(f"src/{number}.ts")
    return written


def _replay(*words: str, capsys) -> tuple[int, str, str]:
    code = main(["lab", "--decisions", *words], {})
    return code, *capsys.readouterr()


def _unwrapped(said: str) -> str:
    """An error without its blanks: it is folded where a path is long."""
    return "".join(said.split())


def test_a_line_says_what_is_cleared_before_which_message(tmp_path) -> None:
    session = sessions.read(_transcript().write(tmp_path / "session.jsonl"))
    policy = Script({2: {"a": "[gone]"}, 3: {"b": "[gone too] …"}})
    with (tmp_path / "out.jsonl").open("w+") as file:
        said = lab_command.replay(session, policy, prices(), file)
        file.seek(0)
        lines = [json.loads(line) for line in file]
    assert lines == [
        {"before_message_id": "m-a", "request": 1, "clear": []},
        {"before_message_id": "m-b", "request": 2, "clear": [{"id": "a", "placeholder": "[gone]", "reasons": ["as told"]}]},
        {"before_message_id": "m-3", "request": 3, "clear": [{"id": "b", "placeholder": "[gone too] …", "reasons": ["as told"]}]},
    ]
    assert said.startswith("3 requests, 2 of 2 results cleared (900 tokens), 0 missed; against clearing nothing cost 0.9")


def test_decisions_are_written_to_a_private_file_and_the_sum_to_standard_error(tmp_path, capsys) -> None:
    out = tmp_path / "out.jsonl"
    written = _long(tmp_path)
    code, shown, said = _replay(str(written.path), "--policy", "auto", "--ttl", "1h", "--out", str(out), capsys=capsys)
    assert (code, shown) == (0, "")
    assert said.startswith("auto, 1h cache, claude-opus-4-8 (read 0.1, write 2, output 5): 120 requests, ")
    assert out.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 120
    assert any(line["clear"] for line in lines)
    assert all(list(line) == ["before_message_id", "request", "clear"] for line in lines)
    numbers = [line["request"] for line in lines]
    assert numbers == sorted(set(numbers))
    assert [line["before_message_id"] for line in lines] == [f"msg_{number}" for number in numbers]


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_replayed(tmp_path, capsys, name: str) -> None:
    code, shown, said = _replay(str(_long(tmp_path).path), "--policy", name, capsys=capsys)
    assert code == 0
    assert said.startswith(f"{name}, 5m cache, claude-opus-4-8 (read 0.1, write 1.25, output 5): 120 requests, ")
    for line in shown.splitlines():
        for cleared in json.loads(line)["clear"]:
            assert list(cleared) == ["id", "placeholder", "reasons"]
            assert isinstance(cleared["placeholder"], str)
            assert all(isinstance(reason, str) for reason in cleared["reasons"])


@pytest.mark.parametrize(
    ("model", "prices_named"),
    [
        ("claude-opus-4-8", "claude-opus-4-8 (read 0.1, write 1.25, output 5)"),
        ("of-nobody", "of-nobody, which the table of models does not name (read 0.025, write 1.25, output 5, thinking bound)"),
    ],
)
def test_it_can_be_reckoned_at_the_prices_of_another_model_and_says_so(tmp_path, capsys, model: str, prices_named: str) -> None:
    code, _, said = _replay(str(_long(tmp_path).path), "--policy", "spec", "--model", model, capsys=capsys)
    assert code == 0
    assert said.startswith(f"spec, 5m cache, {prices_named}: 120 requests, ")


def test_a_policy_of_ones_own_decides_and_what_it_prints_is_not_among_it(tmp_path, capsys) -> None:
    path = written(tmp_path / "own")
    code, shown, said = _replay(str(_long(tmp_path).path), "--policy", f"{path}:OldReads", capsys=capsys)
    assert code == 0
    lines = [json.loads(line) for line in shown.splitlines()]
    assert len(lines) == 120
    assert lines[50]["clear"][0]["reasons"] == ["old"]
    assert "decides" in said
    code, _, said = _replay(str(_long(tmp_path).path), "--policy", f"{path}:Sometimes", capsys=capsys)
    assert code == 1
    assert "Sometimesfailed:decideraisedKeyError" in _unwrapped(said)


def test_an_unknown_policy_is_refused_with_the_known_ones(tmp_path, capsys) -> None:
    code, shown, said = _replay(str(_long(tmp_path).path), "--policy", "nonsense", capsys=capsys)
    assert (code, shown) == (1, "")
    assert said.startswith("popkit lab: unknown policy nonsense. Known: ")
    assert all(name in said for name in POLICIES)


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "cannot be read: No such file"), (b"", "is empty"), (b"\x00\xff\n" * 9, "is not a Claude Code transcript")],
)
def test_what_is_no_transcript_is_refused(tmp_path, capsys, content: bytes | None, why: str) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_bytes(content)
    code, shown, said = _replay(str(path), capsys=capsys)
    assert (code, shown) == (1, "")
    assert _unwrapped(f"{path}: {why}") in _unwrapped(said)


def test_an_out_that_can_not_be_written_is_refused(tmp_path, capsys) -> None:
    out = tmp_path / "nowhere" / "out.jsonl"
    code, shown, said = _replay(str(_long(tmp_path).path), "--out", str(out), capsys=capsys)
    assert (code, shown) == (1, "")
    assert _unwrapped(f"{out}: cannot be written: No such file or directory") in _unwrapped(said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_is_told_of(tmp_path, capsys) -> None:
    code, _, said = _replay(str(_long(tmp_path).path), "--policy", "masking-10", "--out", "/dev/full", capsys=capsys)
    assert code == 1
    assert said == "popkit lab: /dev/full: cannot be written: No space left on device\n"


def test_where_nothing_is_cleared_the_requests_are_told_too(tmp_path, capsys) -> None:
    code, shown, said = _replay(str(_long(tmp_path).path), "--policy", "nothing", capsys=capsys)
    lines = [json.loads(line) for line in shown.splitlines()]
    assert code == 0
    assert lines == [{"before_message_id": f"msg_{number}", "request": number, "clear": []} for number in range(1, 121)]
    assert "120 requests, 0 of 120 results cleared (0 tokens), 0 missed; against clearing nothing cost 1.000, carried 1.000" in said


def test_the_transcript_itself_is_never_written_over(tmp_path, capsys) -> None:
    path = _long(tmp_path).path
    before = path.read_bytes()
    code, _, said = _replay(str(path), "--out", str(path), capsys=capsys)
    assert code == 1
    assert "isthetranscriptitself" in _unwrapped(said)
    assert path.read_bytes() == before


def test_a_session_without_requests_has_nothing_to_compare(tmp_path, capsys) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    code, shown, said = _replay(transcript.write(tmp_path / "session.jsonl"), capsys=capsys)
    assert (code, shown, said) == (0, "", f"auto, 5m cache, {NO_MODEL}: 0 requests, 0 of 0 results cleared (0 tokens)\n")


def _read_twice(folder: Path) -> tuple[Written, str]:
    written = Written(folder)
    text = "\n".join(f"{at:>6}→    value_{at} = configure('the shop', step={at})" for at in range(1, 41))
    written.say("go")
    for limit in (40, 41):
        written.call("Read", {"file_path": f"{written.project}/src/a.ts", "limit": limit}, text)
    written.call("Bash", {"command": "./wait"}, "\n".join(["Waiting for the server"] * 40))
    written.say("and?")
    written.call("Bash", {"command": "./done"}, "done")
    return written, text


def _once(shown: str) -> dict[int, list[dict]]:
    """request -> what enters before it."""
    return {line["request"]: line["once"] for line in map(json.loads, shown.splitlines()) if "once" in line}


def test_say_once_tells_at_which_request_what_enters_and_its_content(tmp_path, capsys) -> None:
    written, text = _read_twice(tmp_path)
    code, shown, said = _replay(str(written.path), "--policy", "nothing", "--say-once", "reads", capsys=capsys)
    assert code == 0
    lines = text.split("\n")
    [line] = [line for line in map(json.loads, shown.splitlines()) if "once" in line]
    assert list(line) == ["before_message_id", "request", "clear", "once"]
    assert (line["request"], line["clear"]) == (3, [])
    [entered] = line["once"]
    assert list(entered) == ["id", "content"]
    first, reference, last = entered["content"].split("\n")
    assert (first, last) == (lines[0], lines[-1])
    assert reference.startswith("[lines 2–39 as in your Read of ")
    assert ": from «value_2 = configure('the shop',» to «value_39 = configure('the»; to see all: popkit restore " in reference
    assert "0 of 4 results cleared (0 tokens), " in said
    assert " tokens of 1 result kept out, 0 missed; " in said


def test_shape_says_the_same_line_once_with_its_count(tmp_path, capsys) -> None:
    written, _ = _read_twice(tmp_path)
    code, shown, _ = _replay(str(written.path), "--policy", "nothing", "--shape", "safe", capsys=capsys)
    assert code == 0
    [[entered]] = _once(shown).values()
    assert entered["content"] == "Waiting for the server\n[the line above stands 40 times in a row]"


def test_both_together_enter_under_any_policy_and_off_changes_nothing(tmp_path, capsys) -> None:
    written, _ = _read_twice(tmp_path)
    for policy in ("nothing", "auto", "spec"):
        _, shown, _ = _replay(str(written.path), "--policy", policy, "--say-once", "any", "--shape", "safe", capsys=capsys)
        assert sum(map(len, _once(shown).values())) == 2
        _, shown, _ = _replay(str(written.path), "--policy", policy, "--say-once", "off", "--shape", "off", capsys=capsys)
        assert _once(shown) == {}
    _, shown, said = _replay(str(written.path), "--policy", "door", capsys=capsys)
    assert sum(map(len, _once(shown).values())) == 2
    assert said.startswith("door, 5m cache, ")


@pytest.mark.parametrize("words", [("--say-once", "all"), ("--shape", "all")])
def test_what_cannot_be_chosen_is_refused(tmp_path, capsys, words: tuple[str, str]) -> None:
    code, shown, said = _replay(str(_read_twice(tmp_path)[0].path), *words, capsys=capsys)
    assert (code, shown) == (1, "")
    assert f"{words[0]} takes off, " in said
    assert f'not "{words[1]}"' in said


def test_the_flag_may_stand_anywhere_and_takes_no_file_for_a_policy(tmp_path, capsys) -> None:
    path = str(_long(tmp_path).path)
    shown = [
        (main(["lab", *words], {}), *capsys.readouterr()) for words in (("--policy", "spec", path, "--decisions"), (path, "--decisions"))
    ]
    assert [said.partition(",")[0] for _, _, said in shown] == ["spec", "auto"]
    assert {code for code, *_ in shown} == {0}


@pytest.mark.parametrize("given", [("--decisions", "{out}"), ("--decisions={out}",)])
def test_replay_is_another_name_of_it_and_says_so(tmp_path, capsys, given: tuple[str, ...]) -> None:
    path, out = str(_long(tmp_path).path), tmp_path / "out.jsonl"
    code = main(["replay", "--policy", "nothing", path, *(word.format(out=out) for word in given)], {})
    shown, said = capsys.readouterr()
    assert (code, shown) == (0, "")
    assert said.startswith("popkit replay is another name of popkit lab --decisions, where its --decisions is --out\n")
    assert "nothing, 5m cache, " in said
    assert len(out.read_text().splitlines()) == 120
