"""Whatever a caller calls users, sessions, projects and agents: the request goes out built, and what it used is in the log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from popkit_retention.context.clients import with_context
from popkit_retention.context.service import configured_service
from popkit_retention.context.usage_log import DatabaseLog
from popkit_retention.usage.database import open_store
from tests.context.clients.callers import KINDS, QUESTION, Desk, Kind, id_of
from tests.context.clients.providers import TEXT, Providers
from tests.context.hostile import HOSTILE
from tests.patience import HANG_S
from tests.usage.records import rows

USAGE = {"anthropic": {}, "openai": {"stream_options": {"include_usage": True}}}


@pytest.fixture
def api() -> Iterator[Providers]:
    with Providers() as running:
        yield running


def written(environ: dict[str, str]) -> list[int]:
    """How many snapshots and requests the store holds."""
    with open_store(environ) as store:
        return rows(store)


@pytest.mark.parametrize("kind", KINDS, ids=id_of)
def test_a_request_goes_out_built_and_is_booked_whatever_its_caller_is_called(
    api: Providers, environ: dict[str, str], kind: Kind, caplog: pytest.LogCaptureFixture
):
    service = configured_service(environ)
    log = service._usage
    assert isinstance(log, DatabaseLog)
    for sent, (which, name) in enumerate(HOSTILE.items()):
        for stream in (False, True):
            client = with_context(kind.make(api), user_id=name, session_id=name, project=name, agent=name, service=service)
            answer = kind.ask(client, stream=stream, **(USAGE[kind.name] if stream else {}))
            assert (kind.said(answer) if stream else kind.text(answer)) == TEXT, which
        assert log.flush(HANG_S), which
        assert [record.getMessage() for record in caplog.records if record.name.startswith("popkit")] == [], which
        assert written(environ) == [2 * sent + 2] * 2, which
    service.close()
    assert [seen.messages[-1]["content"] for seen in api.requests] == [QUESTION[-1]["content"]] * 2 * len(HOSTILE)


@pytest.mark.parametrize("kind", KINDS, ids=id_of)
@pytest.mark.parametrize("field", ["user_id", "session_id", "project", "agent"])
@pytest.mark.parametrize("value", [7, b"dana", ["dana"]], ids=repr)
def test_what_is_no_text_is_refused_with_the_field_and_nothing_goes(api: Providers, kind: Kind, field: str, value: object):
    desk = Desk(api)
    with pytest.raises(TypeError, match=f"{field} takes a text, not"):
        with_context(kind.make(api), **{"user_id": "dana", field: value}, service=desk.service)
    with pytest.raises(TypeError, match=f"{field} takes a text, not"):
        kind.ask(desk.client(kind), extra_body={"popkit": {field: value}})
    assert api.requests == []
