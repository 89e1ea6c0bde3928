"""Appends entries to a transcript as the client does, opening it by its name for each line, until its input is closed.

    python -S client.py TRANSCRIPT PARENT PAUSE_MS [TYPE]

Each entry follows the one before: an answer, or one of another type. Prints how many there were.
"""

from __future__ import annotations

import json
import os
import random
import select
import sys
import time

path, parent, pause_ms = sys.argv[1], sys.argv[2], float(sys.argv[3])
kind = sys.argv[4] if len(sys.argv) > 4 else "assistant"
random_ = random.Random(7)
number = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    uuid = f"written-{number}"
    text = "x" * random_.choice((30, 300, 6_000))
    body = {"role": "assistant", "id": f"mw{number}", "content": [{"type": "text", "text": text}]}
    entry = {"parentUuid": parent, "isSidechain": False, "type": kind, "message": body, "uuid": uuid, "n": number}
    line = json.dumps({**entry, "timestamp": "2026-09-22T10:00:00.000Z", "version": "2.1.330"}).encode() + b"\n"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    assert os.write(fd, line) == len(line)
    os.close(fd)
    parent = uuid
    number += 1
    time.sleep(random_.uniform(0, 2 * pause_ms) / 1000)
print(number, flush=True)
