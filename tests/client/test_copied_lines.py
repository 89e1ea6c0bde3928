"""In the real client: a call that would write a line of PopKit's into a file is denied, and the model reads what the line stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils import archive
from tests.policy.door_laws import OURS

from . import installs
from .client import ClientHome
from .plugin_copy import ROOT
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


def test_in_every_client_the_hook_denies_a_placeholder_of_the_session(home: ClientHome, api: ScriptedApi):
    api.places["work"] = str(home.work)
    api.scripts["first"] = [call(("Bash", {"command": "true"})), say("done")]
    first = home.run_headless("go [[SCRIPT:first]]", plugin_dir=ROOT)
    (home.config / "popkit").mkdir(exist_ok=True)
    db = archive.open_archive(str(home.config / "popkit" / "archive.sqlite"))
    record = archive.NewRecord("toolu_1", "read", "Read app.js", '"the text"')
    (handle,) = archive.add_records(db, archive.Chain(first.session_id, first.session_id), [record]).ids
    db.close()
    placeholder = f"[PopKit cleared Read app.js (edited later). To see it: popkit restore {handle}]"
    writes = [
        ("Write", {"file_path": "{work}/a.js", "content": f"let a;\n{placeholder}\n"}),
        ("Bash", {"command": f"echo '{placeholder}' > a.js"}),
        ("Write", {"file_path": "{work}/guide.md", "content": placeholder.replace(handle, "abcd2345")}),
    ]
    api.scripts["more"] = [*[call(one) for one in writes], say("done")]
    home.run_headless("go on [[SCRIPT:more]]", plugin_dir=ROOT, resume=first.session_id)
    *_, write, shell, _ = api.turns()[-1].tool_results().values()
    assert all(f"This line stands for Read app.js: `popkit restore {handle}`" in denied for denied in (write, shell))
    assert not (home.work / "a.js").exists()
    assert (home.work / "guide.md").exists()
