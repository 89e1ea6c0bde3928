"""A helper that fails, in every way that was thought of: what is started in its place."""

from __future__ import annotations

import sys
from pathlib import Path

# As a line of a shell, with the places that it names.
SERVE = {
    "absent": "exit 1",
    "wrong": "echo 'no JSON at all'; sleep 600",
    "crashing": "exec {python} {stand_in} crash {short}",
    "garbage": "exec {python} {stand_in} garbage {short}",
    "another shape": "exec {python} {stand_in} shape {short}",
    "of another version": """echo '{{"socket": "/nowhere", "protocol": 99}}'; sleep 600""",
    "hanging": "exec {python} {stand_in} hang {short}",
    "mute": "sleep 600",
}
# What a guest takes as it takes another of them: no helper begins, or what it answers is of no use.
ALIKE = {"wrong", "another shape"}
ASKED = {"hanging": "hang", "garbage": "garbage", "crashing": "crash", "another shape": "shape"}  # they come, and are asked
STAND_IN = """
import os, socket, sys
path = os.path.join(sys.argv[2], str(os.getpid()))
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen(64)
print('{"socket": "%s", "protocol": 1}' % path, flush=True)
kept = []
answers = {"garbage": b"[nonsense", "shape": b'{"content": 7, "output": 7, "text": []}'}
while True:
    one, _ = listening.accept()
    kept.append(one)
    open(__file__ + "." + sys.argv[1], "a").close()
    if sys.argv[1] == "crash":
        os._exit(1)
    if sys.argv[1] in answers:
        one.recv(1 << 20)
        body = answers[sys.argv[1]]
        one.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        one.close()
"""


def line(fault: str, stand_in: Path, short: str) -> str:
    """The line of a shell that fails so; `stand_in`: a file with STAND_IN, `short`: a folder whose path is short enough for a socket."""
    return SERVE[fault].format(python=sys.executable, stand_in=stand_in, short=short)
