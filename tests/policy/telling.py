"""Made-up outputs in which a number, a hash, an id or a word among lines alike matters: name -> (the output, what matters in it)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable


def _hash(at: int) -> str:
    return hashlib.sha256(str(at).encode()).hexdigest()


def _odd(form: Callable[[int], str], at: int, instead: str, count: int = 30) -> tuple[str, str]:
    """`count` lines of a form, of which the one at a place is another."""
    lines = [form(number) for number in range(count)]
    lines[at] = instead
    return "\n".join(lines), instead


def _gap(form: Callable[[int], str], missing: int, count: int = 30) -> tuple[str, str]:
    """Lines that count on, of which one is missing: those around it matter."""
    lines = [form(number) for number in range(count) if number != missing]
    return "\n".join(lines), lines[missing - 1] + "\n" + lines[missing]


def _all(form: Callable[[int], str], count: int = 30) -> tuple[str, str]:
    text = "\n".join(map(form, range(count)))
    return text, text


OUTPUTS: dict[str, tuple[str, str]] = {
    "one 500 among 200s": _odd(lambda n: f"request {n} answered 200", 17, "request 17 answered 500"),
    "one 404": _odd(lambda n: f"GET page ({n}) -> 200", 5, "GET page (5) -> 404"),
    "one exit status 1": _odd(lambda n: f"worker {n} ended with status 0", 20, "worker 20 ended with status 1"),
    "a signal": _odd(lambda n: f"child {n} exit 0", 11, "child 11 exit 139"),
    "a full volume": _odd(lambda n: f"volume {n} used {40 + n % 7}%", 9, "volume 9 used 100%"),
    "an empty volume": _odd(lambda n: f"free space on disk {n} {200 + n} GB", 4, "free space on disk 4 0 GB"),
    "a slow test": _odd(lambda n: f"test {n} took {n + 3} ms", 12, "test 12 took 98000 ms"),
    "a slow query": _odd(lambda n: f"query {n} done after 2ms", 28, "query 28 done after 41000ms"),
    "rows per tenant": _all(lambda n: f"tenant {n} has {(n * 7919) % 1000} rows"),
    "a tenant without rows": _odd(lambda n: f"tenant {n} has {n + 90} rows", 8, "tenant 8 has 0 rows"),
    "a missing night": _gap(lambda n: f"2026-03-{n + 1:02} 02:00:01 nightly backup finished", 13),
    "a missing sequence number": _gap(lambda n: f"event {n} received", 21),
    "a gap of time": _odd(lambda n: f"10:00:{n:02} heartbeat sent", 15, "10:09:15 heartbeat sent"),
    "a clock that went back": _odd(lambda n: f"10:00:{n:02} tick arrived", 15, "09:58:15 tick arrived"),
    "hashes that were asked for": _all(lambda n: f"image {_hash(n)[:12]} pushed"),
    "commits": _all(lambda n: f"picked {_hash(n)[:8]} onto main"),
    "one commit twice": _odd(lambda n: f"merged {_hash(n)[:10]} cleanly", 22, f"merged {_hash(3)[:10]} cleanly"),
    "checksums of parts": _all(lambda n: f"part {n} sha256:{_hash(n)}"),
    "one checksum differs": _odd(lambda n: f"replica {n} at {_hash(1)[:12]}", 16, f"replica 16 at {_hash(2)[:12]}"),
    "uuids": _all(lambda n: f"created user {_hash(n)[:8]}-0000-4000-8000-{_hash(n)[:12]}"),
    "ids of jobs": _all(lambda n: f"submitted job {700000 + n * n}"),
    "process ids": _all(lambda n: f"started worker {4000 + n * 3}"),
    "ports": _all(lambda n: f"listening on {8000 + n * 5}"),
    "one port taken": _odd(lambda n: f"listening on {8000 + n}", 3, "listening on 8002"),
    "scores": _all(lambda n: f"fold {n} scored {(n * 37) % 100}"),
    "a loss that explodes": _odd(lambda n: f"step {n} loss {50 - n}", 26, "step 26 loss 812345"),
    "a loss that is not a number": _odd(lambda n: f"step {n} loss 4", 26, "step 26 loss nan"),
    "memory that grows": _all(lambda n: f"resident after round {n} {100 + n * 16} MB"),
    "memory that jumps": _odd(lambda n: f"resident {120 + n % 2} MB", 14, "resident 7900 MB"),
    "a queue that fills": _all(lambda n: f"queue depth {n * n} now"),
    "one message lost": _odd(lambda n: f"batch {n} sent 100/100", 19, "batch 19 sent 99/100"),
    "one byte short": _odd(lambda n: f"chunk {n} wrote 65536B", 29, "chunk 29 wrote 65535B"),
    "bytes over the net": _all(lambda n: f"link {n} carries {n * 13 % 50} MB/s"),
    "one node behind": _odd(lambda n: f"node {n} at height 81234", 6, "node 6 at height 80011"),
    "versions": _odd(lambda n: f"host {n} runs 14.2", 27, "host 27 runs 13.9"),
    "retries": _odd(lambda n: f"upload {n} took 1 attempts", 10, "upload 10 took 7 attempts"),
    "negative balance": _odd(lambda n: f"account {n} balance = 10", 18, "account 18 balance = -250"),
    "a day without sales": _odd(lambda n: f"2026-04-{n + 1:02} sold {n + 12}", 7, "2026-04-08 sold 0"),
    "a leap day": _odd(lambda n: f"2026-02-{n + 1:02} checked", 28, "2026-02-29 checked"),
    "dates of expiry": _odd(lambda n: f"certificate {n} until 2031-01-01", 2, "certificate 2 until 2026-01-02"),
    "temperatures": _odd(lambda n: f"sensor {n} reads {20 + n % 3}", 25, "sensor 25 reads 96"),
    "packets lost": _odd(lambda n: f"hop {n} loss 0%", 9, "hop 9 loss 38%"),
    "round trips": _odd(lambda n: f"reply {n} in 3ms", 23, "reply 23 in 2900ms"),
    "coverage": _odd(lambda n: f"module {n} covered 98%", 13, "module 13 covered 3%"),
    "migrations": _gap(lambda n: f"applied migration ({n})", 4),
    "offsets of partitions": _all(lambda n: f"partition {n} lag {(n * 101) % 17}"),
    "one locked row": _odd(lambda n: f"transaction {n} committed", 24, "transaction 24 aborted"),
    "one word": _odd(lambda n: f"check ({n}) accepted", 12, "check (12) rejected"),
    "one skipped": _odd(lambda n: f"case {n} run", 21, "case 21 skipped"),
    "one file fewer": _odd(lambda n: f"folder {n}: copied 40 files", 3, "folder 3: copied 39 files"),
    "seeds": _all(lambda n: f"run with seed {(n * 7907) % 4096}"),
    "prices": _all(lambda n: f"item {n} costs {(n * 31) % 90}.50"),
    "line counts": _all(lambda n: f"function {n} has {(n * 17) % 61} statements"),
    "permissions": _odd(lambda n: f"object {n} mode 0644", 16, "object 16 mode 0777"),
    "a duplicate id": _odd(lambda n: f"inserted row {n}", 20, "inserted row 19"),
    "widths": _all(lambda n: f"frame {n} is {(n * 3) % 11} px late"),
    "shards": _odd(lambda n: f"shard {n} has 3 replicas", 26, "shard 26 has 1 replicas"),
    "workers idle": _odd(lambda n: f"10:01:{n:02} worker idle {n}", 18, "10:01:18 worker busy 18"),
    "attempt that succeeded": _odd(lambda n: f"[{n}/30] trying password list", 13, "[13/30] matched password list"),
    "block numbers": _gap(lambda n: f"<{n}> block written", 17),
    "time to first byte": _odd(lambda n: f"warm start {n} 12.5 ms", 1, "warm start 1 1250 ms"),
    "statuses drawn over": ("GET /a 200\rGET /a 500\rGET /b 200\ndone", "GET /a 500"),
    "a failure drawn over": ("test 1/3 ok\rtest 2/3 FAILED\rtest 3/3 ok\n", "test 2/3 FAILED"),
    "a warning drawn over": ("20% checked, warning: low disk\r100% checked\n", "warning: low disk"),
    "rows ended by a carriage return": ("anna 17\rbert 23\rcleo 500\rdora 4\n", "cleo 500"),
    "marks drawn over": ("anna 3/10\rbert 9/10\rcleo 5/10\n", "bert 9/10"),
    "a loss beside progress": ("\r".join(f"{n * 10}% loss=0.{n * 37 % 100}" for n in range(11)), "40% loss=0.48"),
    "columns that codes keep apart": ("name\x1b[20Gbytes\nanna\x1b[20G12\nbert\x1b[3C34", "anna\x1b[20G12"),
}  # fmt: skip
