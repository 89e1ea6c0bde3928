"""Print how often each law was checked in each real host, and how often it was broken."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.opencode import installs
from tests.opencode.client import Server
from tests.pi import installs as pi

from .laws import LAWS, check
from .test_conformance import HOSTS, hosts

print("| law |" + "".join(f" {host} |" for host in HOSTS))
print("|---|" + "---|" * len(HOSTS))
with (
    tempfile.TemporaryDirectory() as folder,
    Server(Path(folder, "opencode"), installs.install()) as server,
    hosts(Path(folder), server, pi.install()) as play,
):
    found = {host: check(play(host)) for host in HOSTS}
for law in LAWS:
    print(f"| {law} |" + "".join(f" {found[host][law].count}, {len(found[host][law].broken)} broken |" for host in HOSTS))
