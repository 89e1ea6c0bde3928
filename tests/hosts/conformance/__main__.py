"""Print how often each law was checked in each real host, and how often it was broken."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .laws import LAWS, check
from .test_conformance import HOSTS, play

print("| law |" + "".join(f" {host} |" for host in HOSTS))
print("|---|" + "---|" * len(HOSTS))
found = {}
for host in HOSTS:
    with tempfile.TemporaryDirectory() as folder:
        found[host] = check(play(host, Path(folder)))
for law in LAWS:
    print(f"| {law} |" + "".join(f" {found[host][law].count}, {len(found[host][law].broken)} broken |" for host in HOSTS))
