"""A real Neo4j for the tests: from Maven Central into the cache folder, started as an ordinary process on the loopback.

    python -m tests.memory.stores.server

fetches and compiles what is missing, below POPKIT_SERVER_DIR, else .cache. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import HANG_S

PROJECT_ROOT = Path(__file__).resolve().parents[3]
SOURCES = Path(__file__).parent / "neo4j_server"
OLDEST_JAVA = 17
# The registry itself has less time, see below; the server's parts are 150 MB.
INSTALL_TIMEOUT_S = 600
# For Maven 3.8 and for later ones; milliseconds. A MAVEN_OPTS of the user's own takes their place.
PATIENCE = (
    "-Dmaven.wagon.rto=20000 -Dmaven.wagon.http.retryHandler.count=1 "
    "-Daether.connector.connectTimeout=10000 -Daether.connector.requestTimeout=20000"
)
WHAT_TO_DO = (
    "If the registry does not answer: try again, or name a mirror (in ~/.m2/settings.xml), or run scripts/test --offline, "
    "which uses what is in .cache."
)
# The first compiler alone: what the second one makes faster does not pay for its own time in a server that lives for a minute. Nor does
# looking through each class before it is used: these are Neo4j's own.
OPTIONS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip


class ServerInstallError(RuntimeError):
    """Java and Maven were there, but the server could not be installed; the text says what to do."""


def missing() -> str:
    """What of Java and Maven this machine lacks; "" where both are there."""
    java = shutil.which("java")
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    version = output.partition('version "')[2].partition(".")[0]
    lacking = [] if version.isdigit() and int(version) >= OLDEST_JAVA else [f"java {OLDEST_JAVA}"]
    lacking += [program for program in ("javac", "mvn") if not shutil.which(program)]
    return ", ".join(lacking)


def install() -> list[str]:
    """The server's class path: what is missing is fetched and compiled."""
    cache = Path(os.environ.get("POPKIT_SERVER_DIR") or PROJECT_ROOT / ".cache").resolve()
    sources = [SOURCES / name for name in ("pom.xml", "Server.java")]
    known = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    folder = cache / "neo4j" / known
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "classpath"
    with (folder.parent / f"{known}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        parts = listed.read_text().split(os.pathsep) if listed.exists() else []
        if parts and all(Path(part).exists() for part in parts) and (folder / "Server.class").exists():
            return [str(folder), *parts]
        classpath = folder / "found"
        repository = f"-Dmaven.repo.local={cache / 'maven'}"
        _run(["mvn", "-B", "-ntp", "-q", repository, "-f", str(sources[0]), "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"])
        _run(["javac", "-cp", classpath.read_text(), "-d", str(folder), str(sources[1])])
        classpath.replace(listed)
        return [str(folder), *listed.read_text().split(os.pathsep)]


def _run(command: list[str]) -> None:
    if os.environ.get("POPKIT_OFFLINE"):
        raise ServerInstallError("the Neo4j for tests is not in .cache. Run scripts/test once without --offline.")
    env = {"MAVEN_OPTS": PATIENCE, **os.environ}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ServerInstallError(f"{command[0]} still ran after {INSTALL_TIMEOUT_S} s. {WHAT_TO_DO}") from None
    if done.returncode:
        raise ServerInstallError(f"{command[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}\n{WHAT_TO_DO}")


class Server:
    """A running one. `process` is None where it is somebody else's."""

    def __init__(self, url: str, process: subprocess.Popen[str] | None = None) -> None:
        self.url = url
        self.process = process

    def tell(self, line: str) -> None:
        """Makes it read-only or writable."""
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == line + "\n"


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """A server with its data in a folder, which is killed with the `with`, or ends with this process: nobody reads the data again."""
    command = ["java", *OPTIONS, "-cp", os.pathsep.join(install()), "Server", str(folder)]
    with (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                process.wait(HANG_S)
                errors.seek(0)
                raise RuntimeError(f"the Neo4j for tests did not start:\n{errors.read()[-3000:]}")
            yield Server(url, process)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


if __name__ == "__main__":
    try:
        print("  ", len(install()), "parts")
    except ServerInstallError as error:
        sys.exit(str(error))
