"""Where a package of an extra is missing, the error or the answer has the line that installs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention import PopkitError
from popkit_retention.extras import EXTRAS, IMPORTED, ExtraMissing, missing
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[1]
LISTED = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
NAMES = set(re.findall(r"^([a-z0-9-]+) = \[", LISTED, re.MULTILINE)) - {"dev"}
# extra -> what is asked where nothing is installed but PopKit.
ASKED = {
    "cluster": "from popkit_retention.parallel.cluster import Cluster; Cluster('tcp://127.0.0.1:1', 1, 1).__enter__()",
    "context": "from popkit_retention.context import build_context",
    "embeddings": "from popkit_retention.memory.minilm import MiniLmEmbedder; MiniLmEmbedder()",
    "langgraph": "import popkit_retention.adapters.langgraph",
    "neo4j": "from popkit_retention.memory.stores.servers.neo4j import Neo4jStore; Neo4jStore('bolt://127.0.0.1:1')",
    "openai-agents": "import popkit_retention.adapters.openai_agents",
    "pgvector": "from popkit_retention.vector_stores import PgVectorStore; PgVectorStore('postgresql://dana@127.0.0.1:1/x')",
    "postgres": "from popkit_retention.usage import postgres; postgres.PostgresStore(type('Server', (), {'words': 'it'}))",
    "pydantic-ai": "import popkit_retention.adapters.pydantic_ai",
    "sqlite-vec": "from popkit_retention.vector_stores.sqlite_vec import _extension; _extension()",
}
# Without these nothing fails: tokens are estimated, and say so; `popkit doctor` names the line for traces. A command asks for the page's.
DONE_WITHOUT = {"dashboard", "tokens", "traces"}


def test_every_extra_is_asked_for() -> None:
    assert {*ASKED, *DONE_WITHOUT} == NAMES
    assert {*EXTRAS, *IMPORTED} >= NAMES


@pytest.mark.parametrize("extra", ASKED)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(extra: str, tmp_path: Path) -> None:
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "power-mode")}
    command = [sys.executable, "-S", "-c", ASKED[extra]]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    if extra in EXTRAS:
        assert f"popkit setup {extra}" in said
    else:
        installed = IMPORTED["context" if extra == "openai-agents" else extra]
        assert said.endswith("pip install " + " ".join(f"'{package}'" for package in installed))


def test_a_package_of_an_extra_is_told_from_any_other_module() -> None:
    told = missing("pydantic-ai", ModuleNotFoundError(name="pydantic_ai.messages"))
    assert isinstance(told, ExtraMissing)
    assert isinstance(told, PopkitError)
    assert told.name == "pydantic_ai.messages"
    assert str(told).startswith("pydantic_ai is not installed. Install what the extra pydantic-ai brings with: pip install ")
    other = ModuleNotFoundError(name="yours")
    assert missing("context", other) is other


def test_the_packages_of_what_a_program_imports_are_those_in_pyproject() -> None:
    for name, packages in IMPORTED.items():
        (line,) = re.findall(rf"^{name} = (\[.*\])$", LISTED, re.MULTILINE)
        own = [package for package in packages if package not in IMPORTED["context"] or name == "context"]
        assert all(f'"{package}' in line for package in own)
        assert ("popkit-retention[context]" in line) == (name != "context" and len(own) < len(packages))
