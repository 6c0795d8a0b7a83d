"""A server in a process of its own, on a free port, with a database of its own."""

import os
import subprocess
import uuid

import pytest
from reflect_sdk import ReflectClient

MASTER = "rf_live_test_0123456789abcdef0123456789abcdef"
BOOTSTRAP = "cF8rVb2Qy6nZ1xKd0sJ4mW7tLh3uPgAe"


def pytest_addoption(parser):
    parser.addoption("--database-url", help="a PostgreSQL database for the server, not a file")


class Server:
    def __init__(self, data):
        self.data = str(data)
        self.process = subprocess.Popen(
            [os.environ["REFLECT_BIN"], "serve", "--listen", "127.0.0.1:0", "--data", self.data,
             "--master-key", MASTER, "--bootstrap-token", BOOTSTRAP, "--log", "warn",
             "--otlp-quiet", "1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert "listens on" in line, line
        self.url = line.split()[-1]

    def client(self, project, key=MASTER):
        return ReflectClient(base_url=self.url + "/", api_key=key, project_id=project)

    def stop(self):
        self.process.terminate()
        assert self.process.wait(30) == 0


@pytest.fixture(scope="session")
def server(tmp_path_factory, pytestconfig):
    file = tmp_path_factory.mktemp("reflect") / "reflect.db"
    running = Server(pytestconfig.getoption("--database-url") or file)
    yield running
    running.stop()


@pytest.fixture
def client(server):
    """A client of a project of its own, whose name needs encoding."""
    return server.client(f"team/{uuid.uuid4()} ü")
