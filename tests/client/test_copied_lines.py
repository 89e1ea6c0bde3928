"""In the real client: a call that would write a line of PopKit's into a file is denied, and the model reads what the line stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.policy import own_lines
from tests.policy.door_laws import OURS

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi, call, say
from .test_mod import BIG, LINES, Session

GUIDE = "# How PopKit writes\n\n" + "\n".join(OURS) + "\n"


@pytest.fixture
def session(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi) -> Session:
    return Session(ClientHome(tmp_path, clients["newest"], api.url), api)


def test_a_reference_is_not_written_back_and_a_text_about_popkit_is(session: Session):
    session.play("go [[SCRIPT:twice]]")
    *_, read = session.results()
    line = next(line for line in read.split("\n") if line.startswith("[lines "))
    handle = next(entry["handle"] for entry in reversed(session.entered()))
    target = session.home.work / "big.py"
    before = target.read_text()
    broken = f"{LINES[69]}\n{line}\n{LINES[-1]}\n"
    session.api.scripts["back"] = [
        call(("Write", {"file_path": BIG, "content": broken})),
        call(("Edit", {"file_path": BIG, "old_string": LINES[100], "new_string": line})),
        call(("Bash", {"command": f"cat > {BIG} <<'EOF'\n{broken}EOF"})),
        call(("Bash", {"command": f"popkit restore {handle}"})),
        call(("Write", {"file_path": "{work}/guide.md", "content": GUIDE})),
        say("done"),
    ]
    session.play("write it back [[SCRIPT:back]]")
    *_, write, edit, shell, restored, guide = session.results()
    for denied in (write, edit, shell):
        assert f"- {line[1:-1]}\n  This line stands for {line[1:].partition(' as in ')[0]} of Read big.py" in denied
        assert f": `popkit restore {handle}`\n" in denied
    assert target.read_text() == before
    assert restored.split("\n")[:231] == [f"{number}\t{LINES[number - 1]}" for number in range(70, 301)], "all of it, though it is above"
    assert "created successfully" in guide
    assert (session.home.work / "guide.md").read_text() == GUIDE
    assert session.log() == ""


def test_a_mark_before_a_mere_lookalike_of_our_line_is_not_written_into_its_file(session: Session):
    file, page = "{work}/notes.md", session.home.work / "notes.md"
    page.write_text(f"# Notes\n{OURS[0]}\nthe end\n")
    guide = f"The mark: {own_lines.MARK}{OURS[1]}\n"
    (session.home.work / "guide.md").write_text(guide)
    session.api.scripts["notes"] = [call(("Read", {"file_path": file})), call(("Read", {"file_path": "{work}/guide.md"})), say("done")]
    session.play("go [[SCRIPT:notes]]")
    read, of_guide = session.results()
    assert own_lines.MARK + own_lines.MARK + OURS[1] in of_guide
    line = read.split("\n")[1].partition("\t")[2]
    assert line == own_lines.MARK + OURS[0]
    session.api.scripts["back"] = [
        call(("Write", {"file_path": file, "content": f"# Notes\n{line}\n"})),
        call(("Edit", {"file_path": file, "old_string": "the end", "new_string": f"{line}\nthe end"})),
        call(("Edit", {"file_path": file, "old_string": OURS[0], "new_string": "nothing"})),
        call(("Write", {"file_path": "{work}/guide.md", "content": guide + "More.\n"})),
        say("done"),
    ]
    session.play("write it back [[SCRIPT:back]]")
    *_, write, wrong, right, allowed = session.results()
    for denied in (write, wrong):
        assert f"The file does not have them.\n- {OURS[0].lstrip('[')}\nWrite this without the words and their brackets." in denied
    assert "has been updated" in right
    assert page.read_text() == "# Notes\nnothing\nthe end\n"
    assert "has been updated" in allowed
    assert session.log() == ""


def test_in_every_client_the_hook_denies_a_placeholder_of_the_session(home: ClientHome, api: ScriptedApi):
    api.places["work"] = str(home.work)
    api.scripts["first"] = [call(("Bash", {"command": "true"})), say("done")]
    first = home.run_headless("go [[SCRIPT:first]]", plugin_dir=linked())
    (home.config / "popkit").mkdir(exist_ok=True)
    db = archive.open_archive(str(home.config / "popkit" / "archive.sqlite"))
    record = archive.NewRecord("toolu_1", "read", "Read app.js", '"the text"')
    (handle,) = archive.add_records(db, archive.Chain(first.session_id, first.session_id), [record])
    db.close()
    placeholder = f"[PopKit cleared Read app.js (edited later). To see it: popkit restore {handle}]"
    writes = [
        ("Write", {"file_path": "{work}/a.js", "content": f"let a;\n{placeholder}\n"}),
        ("Bash", {"command": f"echo '{placeholder}' > a.js"}),
        ("Write", {"file_path": "{work}/guide.md", "content": placeholder.replace(handle, "abcd2345")}),
    ]
    api.scripts["more"] = [*[call(one) for one in writes], say("done")]
    home.run_headless("go on [[SCRIPT:more]]", plugin_dir=linked(), resume=first.session_id)
    *_, write, shell, _ = api.turns()[-1].tool_results().values()
    assert all(f"This line stands for Read app.js: `popkit restore {handle}`" in denied for denied in (write, shell))
    assert not (home.work / "a.js").exists()
    assert (home.work / "guide.md").exists()
