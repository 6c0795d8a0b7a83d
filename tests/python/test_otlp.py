"""Runs from OpenTelemetry: the real exporter and real instrumentations, with a scripted model."""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import httpx
import pytest
from conftest import MASTER
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

HERE = pathlib.Path(__file__).parent
CALL = {"id": "call_1", "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
ANSWER = "Take an umbrella."


class Model(BaseHTTPRequestHandler):
    """Calls a tool if it has one, and answers then."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": ANSWER}
        if asked.get("tools") and asked["messages"][-1]["role"] != "tool":
            message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        reply = json.dumps({
            "id": "c-1", "object": "chat.completion", "created": 1, "model": "gpt-5.4-mini",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


@pytest.fixture
def variables(server, client, model):
    """What a user sets."""
    made = client.create_api_key(label="agent", scopes=["trace:write"])
    return {
        "OPENAI_BASE_URL": model, "OPENAI_API_KEY": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": server.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{quote(made.api_key)}",
    }


def run(program, variables):
    ran = subprocess.run(
        [sys.executable, *program], env=os.environ | variables, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "Failed to export" not in ran.stderr, ran.stderr
    return ran.stdout


def only(client):
    """The one run, once its trace is complete."""
    end = time.monotonic() + 30
    while not (traces := client.list_traces()) and time.monotonic() < end:
        time.sleep(0.1)
    [trace] = traces
    return trace


def test_the_program_of_the_page_is_recorded(client, variables):
    page = (HERE.parent.parent / "docs" / "otlp.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert run(["-c", program], variables).strip() == ANSWER
    trace = only(client)
    assert trace.task == "What is the weather in Oslo?"
    assert (trace.final_response, trace.model) == (ANSWER, "gpt-5.4-mini")


LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.mark.parametrize(("arguments", "more"), [
    (["openinference"], {}),
    (["openinference", "each"], {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}),
    (["openllmetry"], {}),
    # Messages as events, which are exported as logs.
    (["opentelemetry"], {CONTENT: "true"}),
    (["opentelemetry"], LATEST | {CONTENT: "span_only"}),
], ids=["openinference", "one span a request", "openllmetry", "events", "attributes"])
def test_an_agent_with_a_tool_is_one_run(server, client, variables, arguments, more):
    run([str(HERE / "otlp_agent.py"), *arguments], variables | more)
    trace = only(client)
    said = [(message["role"], message.get("content"), message.get("tool_call_id"))
            for message in trace.trajectory]
    assert said == [
        ("system", "Be short.", None),
        ("user", "What is the weather in Oslo?", None),
        ("assistant", None, None),
        ("tool", "4 degrees, rain", "call_1"),
        ("assistant", ANSWER, None),
    ]
    [call] = trace.trajectory[2]["tool_calls"]
    assert (call["id"], call["function"]["name"]) == ("call_1", "weather")
    assert (trace.task, trace.model) == ("What is the weather in Oslo?", "gpt-5.4-mini")
    assert trace.retrieved_memory_ids == ["m-1"]
    assert trace.metadata["ticket"] == "123"
    path = f"v1/projects/{quote(client.project_id, safe='')}/traces/{trace.id}"
    whole = httpx.get(f"{server.url}/{path}", headers={"authorization": f"Bearer {MASTER}"}).json()
    assert whole["session_id"] == "s-1"
    assert whole["usage"] == {"input_tokens": 22, "output_tokens": 14}
    assert trace.review_status == "pending"


def test_a_repeated_export_doubles_nothing(server, client, variables):
    """What an exporter sends again after a lost answer, before the run was recorded and after it."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Refund order 7"}]}])
    span = provider.get_tracer("agent").start_span(
        "chat", attributes={"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages})
    span.end()
    key = variables["OTEL_EXPORTER_OTLP_HEADERS"].removeprefix("authorization=Bearer%20")
    exporter = OTLPSpanExporter(
        f"{server.url}/v1/traces", headers={"authorization": f"Bearer {key}"}, compression=Compression.Gzip)
    for _ in range(2):
        assert exporter.export(kept.get_finished_spans()) == SpanExportResult.SUCCESS
    assert only(client).task == "Refund order 7"
    assert exporter.export(kept.get_finished_spans()) == SpanExportResult.SUCCESS
    assert len(client.list_traces()) == 1


def test_a_wrong_key_is_a_status_of_the_protocol(server):
    from google.rpc.status_pb2 import Status

    answer = httpx.post(f"{server.url}/v1/traces", content=b"", headers={
        "authorization": "Bearer wrong", "content-type": "application/x-protobuf"})
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/x-protobuf")
    assert Status.FromString(answer.content).code == 16
