"""Requests made from the API's own description, right and wrong: none may end in a 5xx, each that is
right is accepted with an answer that the description knows, and none that is wrong is accepted."""

import os
import pathlib
import subprocess
import sys

from conftest import MASTER

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = ",".join([
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "negative_data_rejection", "valid_data_is_accepted",
])


def test_requests_and_replies_match_the_description(server, tmp_path, pytestconfig):
    # Requests are read before the store sees them, so few suffice for another store.
    is_database = pytestconfig.getoption("--database-url")
    extent = ["--phases", "fuzzing", "--max-examples", "3"] if is_database else ["--max-examples", "40"]
    fuzzer = pathlib.Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [fuzzer, "run", f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {MASTER}",
         "--checks", CHECKS, *extent, "--seed", "1", "--no-color",
         "--generation-database", "none",
         # A path's id leaves little room for wrong values.
         "--suppress-health-check", "filter_too_much"],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE), "SCHEMATHESIS_HOOKS": "fuzz_checks"},
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
