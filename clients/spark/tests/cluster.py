"""A Spark cluster of several processes: a master, and two workers that call themselves different hosts.

Spark starts no duplicate of a task on the host that has the task already, so neither threads nor ``local-cluster``,
whose workers are all of one host, show what duplicates do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pyspark

HOSTS = ("127.0.0.2", "127.0.0.3")
START_SECONDS = 120


class Cluster:
    """One core for each host. It ends with the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> Cluster:
        try:
            log = self._start("master.Master", "--host", "127.0.0.1", "--port", "0")
            self.master = self._wait(log, r"Starting Spark master at (spark://\S+)")
            flags = ("--cores", "1", "--memory", "700m", "--work-dir", str(self._folder))
            logs = [self._start("worker.Worker", "--host", host, "--port", "0", *flags, self.master) for host in HOSTS]
            for log in logs:
                self._wait(log, r"(Successfully registered with master)")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes[::-1]:
            process.terminate()
        for process in self._processes:
            process.wait()

    def _start(self, name: str, *flags: str) -> Path:
        home = Path(pyspark.__file__).parent
        log = self._folder / f"{len(self._processes)}.log"
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--webui-port", "0", *flags]
        with log.open("wb") as sink:
            self._processes.append(
                subprocess.Popen(
                    list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
                )
            )
        return log

    def _wait(self, log: Path, pattern: str) -> str:
        """What the log says once it says it."""
        deadline = time.monotonic() + START_SECONDS
        while not (found := re.search(pattern, log.read_text(errors="replace"))):
            ended = [p.args for p in self._processes if p.poll() is not None]
            assert not ended, (ended, log.read_text(errors="replace"))
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.05)
        return found.group(1)
