#!/usr/bin/env python3
"""Runs the published Python client, an MCP client and a fuzzer against the `reflect` binary.

    python3 tests/python/run.py [pytest arguments]

Needs Python 3.11 or newer with `venv`, cargo, and the package index for the first run. The virtual
environment stays in `target/python`. REFLECT_BIN names a binary to use instead of building one.
"""

import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOME = ROOT / "target" / "python"
REQUIREMENTS = HERE / "requirements.txt"
# The exit code for a machine that cannot reach the package index, apart from what is our own fault.
CANNOT = 77
UNREACHABLE = ("NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ProxyError")


def python() -> str:
    """The interpreter of an environment that has what the tests need."""
    interpreter = HOME / "bin" / "python"
    installed = HOME / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if not installed.exists() or installed.read_text() != wanted:
        venv.create(HOME, clear=True, with_pip=True)
        install = subprocess.run(
            [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--requirement", REQUIREMENTS],
            stderr=subprocess.PIPE, text=True,
        )
        print(install.stderr, end="", file=sys.stderr)
        if install.returncode != 0:
            print("the packages of requirements.txt cannot be installed", file=sys.stderr)
            # Only a machine without a way there is excused: a version that is gone, or that does
            # not fit another, is for us to mend.
            sys.exit(CANNOT if any(sign in install.stderr for sign in UNREACHABLE) else 1)
        installed.write_text(wanted)
    return str(interpreter)


def binary() -> str:
    named = os.environ.get("REFLECT_BIN")
    if named:
        return named
    build = ["cargo", "build", "--locked", "--package", "reflect-cli", "--bin", "reflect"]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(ROOT / "target" / "debug" / "reflect")


def main() -> int:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("REFLECT_")
    }
    environment["REFLECT_BIN"] = binary()
    tests = [python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE), *sys.argv[1:]]
    return subprocess.run(tests, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
