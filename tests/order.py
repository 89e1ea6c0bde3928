"""The order in which tests begin."""

from __future__ import annotations

# What takes longest begins first, those that mostly wait before all; the many short ones that only compute fill the workers up at the end.
FIRST = (
    "tests/client/", "tests/opencode/", "tests/pi/", "tests/hosts/conformance/", "tests/dashboard/page/",
    "tests/context/clients/test_litellm.py", "tests/memory/stores/test_neo4j_store.py",
    "tests/usage/", "tests/parallel/", "tests/test_set_up.py", "tests/cli/test_setup.py",
    "tests/dashboard/test_http.py", "tests/test_packaging.py", "tests/test_features.py", "tests/test_imports.py",
)  # fmt: skip


def place(nodeid: str) -> int:
    """Return the key by which tests are sorted."""
    return next((at for at, name in enumerate(FIRST) if nodeid.startswith(name)), len(FIRST))
