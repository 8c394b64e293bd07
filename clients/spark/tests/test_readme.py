"""The examples of the README run as they stand: PySpark in the tests' Spark, Scala in Spark's own shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from service import ROOT, Client, Server
from sparkling import jar

README = ROOT / "clients" / "spark" / "README.md"
DEFAULT_ADDRESS = "grpc://127.0.0.1:8815"


def blocks(language: str, address: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return [block.replace(DEFAULT_ADDRESS, address) for block in found]


def test_examples(spark: SparkSession, server: Server, client: Client, tmp_path: Path) -> None:
    for name in client.names("sales/"):
        client.drop(name)
    scope: dict[str, object] = {}
    for block in blocks("python", server.address):
        assert "assert" in block
        exec(block, scope)
    assert scope["spark"]._jsparkSession.equals(spark._jsparkSession)

    script = "\n".join([*blocks("scala", server.address), 'println("all " + "done")', "System.exit(0)", ""])
    shell = Path(pyspark.__file__).parent / "bin" / "spark-shell"
    command = [shell, "--master", "local[2]", "--jars", jar(), "--conf", "spark.ui.enabled=false"]
    environment = {**os.environ, "SPARK_HOME": str(shell.parent.parent), "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        list(map(str, command)),
        env=environment,
        cwd=tmp_path,
        input=script,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "all done" in run.stdout, run.stdout + run.stderr
    assert "error" not in run.stdout.lower(), run.stdout
    assert client.describe("sales/counts")["rows"] == 3
