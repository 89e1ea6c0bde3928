"""Appends numbered lines to a transcript as the host does, opening it by its name for each, until its input is closed.

    python -S writer.py TRANSCRIPT NAME HOLD_MS PAUSE_MS

holds the file open for up to HOLD_MS between opening and writing, and pauses for up to PAUSE_MS after closing. Prints how many lines.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time

path, name, hold_ms, pause_ms = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
random_ = random.Random(name)
number = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    line = f'{{"by":"{name}","n":{number},"text":"{"x" * random_.choice([300] * 30 + [20_000])}"}}\n'.encode()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if hold_ms:
        time.sleep(random_.uniform(0, hold_ms) / 1000)
    assert os.write(fd, line) == len(line)
    os.close(fd)
    number += 1
    time.sleep(random_.uniform(0, pause_ms) / 1000)
print(number, flush=True)
