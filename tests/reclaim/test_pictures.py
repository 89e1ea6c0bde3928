"""Pictures and documents that are restored are saved where they can be looked at."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.reclaim import restoring
from popkit_retention.core.reclaim.access import OpenArchive
from popkit_retention.core.state.archived import task_id
from tests.reclaim.shops import Shop, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("image/png", "png"),
        ("image/jpeg", "jpg"),
        ("image/gif", "gif"),
        ("image/webp", "webp"),
        ("application/pdf", "pdf"),
        ("image/x", "bin"),
    ],
)
def test_a_picture_is_saved_as_a_file_of_its_kind_that_the_answer_names(shop: Shop, kind: str, ending: str) -> None:
    data = b"\x00not a real picture"
    source = {"type": "base64", "media_type": kind, "data": b64encode(data).decode()}
    content = json.dumps([{"type": "document" if ending == "pdf" else "image", "source": source}])
    chain = archive.Chain(task_id(shop.session_id), shop.session_id, "", str(shop.project), str(shop.transcript))
    with OpenArchive(str(shop.home), create=True) as db:
        (id,) = archive.add_records(db, chain, [archive.NewRecord("call", "read", "Read a", content)])
        record = archive.record(db, id)
        assert record is not None
        ((_, named),) = restoring.printed(db, [record])
        ((_, saved),) = restoring.printed(db, [record], str(shop.home))
    assert named is not None
    assert saved is not None
    assert saved.startswith(named)
    assert "Saved as" not in named
    path = Path(saved.partition("Saved as ")[2].partition(":")[0])
    assert path.name.endswith(f"{id}-1.{ending}")
    assert path.read_bytes() == data


def test_four_pictures_that_stay_out_are_named_and_a_list_has_the_others(shop: Shop) -> None:
    chain = archive.Chain(task_id(shop.session_id), shop.session_id, "", str(shop.project), str(shop.transcript))
    with OpenArchive(str(shop.home), create=True) as db:
        ids = archive.add_records(db, chain, [archive.NewRecord(f"call-{n}", "read", f"Read {n}", "x") for n in range(5)])
        pictures = [record for record in (archive.record(db, id) for id in ids) if record is not None]
    named = "; ".join(f"popkit restore {id} (Read {n})" for n, id in enumerate(ids[:4]))
    assert restoring.stays_out(pictures[:4]).endswith("To see them: " + named)
    assert restoring.stays_out(pictures).endswith(named + "; popkit restore list names the others")
    assert restoring.stays_out([]) == ""
