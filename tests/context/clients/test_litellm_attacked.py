"""LiteLLM's real proxy with a database that says nothing, and callers with names that nobody should have: every request is answered."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.context.hostile import HOSTILE, Way

from .litellm_proxy import ROOT
from .litellm_team import Team, home_of, running
from .providers import TEXT

QUESTION = [{"role": "user", "content": "And now?"}]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("proxy")
    nobody = Way()
    environ = home_of(folder, {"month_tokens": 1_000_000})
    environ["POPKIT_DATABASE_URL"] = f"postgresql://dana:hunter2@127.0.0.1:{nobody.port}/none"
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "power-mode"), str(driver(folder))])
    with running(folder, environ) as team:
        yield team
    assert nobody.sockets, "the proxy has asked the silent server"
    nobody.close()


def driver(folder: Path) -> Path:
    """A folder with the driver for PostgreSQL of this Python, which the proxy's own does not have."""
    made = folder / "driver"
    made.mkdir()
    for name in ("pg8000", "scramp", "asn1crypto", "dateutil"):
        place = Path(importlib.import_module(name).__file__ or "")
        place = place.parent if place.name == "__init__.py" else place
        (made / place.name).symlink_to(place)
        for told in place.parent.glob(f"{name}-*.dist-info"):  # it asks for its own version
            (made / told.name).symlink_to(told)
    return made


# Half a surrogate is no JSON that a client can send.
@pytest.mark.parametrize("name", [name for kind, name in HOSTILE.items() if kind != "half a surrogate"], ids=lambda name: repr(name)[:12])
def test_every_request_is_answered_whoever_asks_while_the_database_is_silent(team: Team, name: str):
    extra = {"metadata": {"session_id": name, "user_id": name}, "litellm_session_id": name}
    answer = team.openai.chat.completions.create(model="gpt", messages=QUESTION, user=name, extra_body=extra)
    assert answer.choices[0].message.content == TEXT
    said = team.openai.chat.completions.create(model="gpt", messages=QUESTION, user=name, extra_body=extra, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in said if chunk.choices).strip() == TEXT
    message = team.anthropic.messages.create(model="claude", max_tokens=64, messages=QUESTION, metadata={"user_id": name})
    assert message.content[0].text == TEXT
    assert [seen.messages[-1]["role"] for seen in team.api.requests[-3:]] == ["user"] * 3
    assert "Traceback" not in team.proxy.log
    assert "building a context failed" not in team.proxy.log


@pytest.mark.parametrize("value", [7, 1.5, True, ["dana"], {"a": {"b": 1}}], ids=repr)
def test_names_that_are_no_texts_name_nobody(team: Team, value: object):
    extra = {"metadata": {"session_id": value, "user_id": value}, "popkit": {"user_id": value}}
    answer = team.openai.chat.completions.create(model="gpt", messages=QUESTION, extra_body=extra)
    assert answer.choices[0].message.content == TEXT
    assert team.api.last.messages == QUESTION
    assert "building a context failed" not in team.proxy.log


def test_what_the_proxy_says_of_it_holds_no_credentials(team: Team):
    assert "hunter2" not in team.proxy.log
