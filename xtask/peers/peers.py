#!/usr/bin/env python3
"""Measures other projects with the payloads of our own benchmarks: `cargo xtask bench peers`.

    peers.py [--quick]

CPU time is that of this process. The sink that runs are sent to is a process of its own, and answers at once.
"""

import contextlib
import http.server
import importlib.metadata
import json
import logging
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

QUICK = "--quick" in sys.argv
TURN = "The customer asks for a refund of an order that is older than thirty days. " * 4
MESSAGES = [
    {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n}: {TURN}"} for n in range(13)
]


class Sink(http.server.BaseHTTPRequestHandler):
    """Accepts whatever it is sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"trace_id": "t", "ingest_status": "completed"}'
        if self.path.endswith("/v1/traces") and "protobuf" in self.headers.get("content-type", ""):
            body = b""
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.daemon_threads = True
    port.send(server.server_address[1])
    server.serve_forever()


@contextlib.contextmanager
def sink():
    """The address of a sink in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    yield f"http://127.0.0.1:{ours.recv()}"
    process.terminate()


def show(what, value, unit, note=""):
    print(f"{what:<52} {value:>10.2f} {unit:<12} {note}", flush=True)


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def reflect_python():
    from reflect_sdk import ReflectClient

    calls = 100 if QUICK else 500
    with sink() as address:
        client = ReflectClient(base_url=address, api_key="rf_test_x", project_id="bench")
        record = lambda: client.create_trace(task="Refund order 7", trajectory=MESSAGES)
        record()
        began = time.process_time()
        for _ in range(calls):
            record()
        spent = time.process_time() - began
    show(f"{version('reflect-sdk')} (Python), create_trace", spent / calls * 1e6, "µs CPU/call")


def opentelemetry_python():
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    calls = 400 if QUICK else 2_000
    with sink() as address:
        provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=f"{address}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=4 * calls))
        tracer = provider.get_tracer("bench")
        began = time.process_time()
        for _ in range(calls):
            with tracer.start_as_current_span("invoke_agent") as span:
                span.set_attribute("gen_ai.input.messages", json.dumps(MESSAGES))
        provider.force_flush()
        spent = time.process_time() - began
        provider.shutdown()
    show(f"{version('opentelemetry-sdk')} (Python), a span", spent / calls * 1e6, "µs CPU/call")


def mlflow():
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    traces = 50 if QUICK else 300
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"file://{folder}")
        mlflow.set_experiment("bench")
        began = time.perf_counter()
        for _ in range(traces):
            with mlflow.start_span(name="agent") as span:
                span.set_inputs({"messages": MESSAGES})
                span.set_outputs("done")
        mlflow.flush_trace_async_logging(terminate=True)
        spent = time.perf_counter() - began
    show(f"{version('mlflow-skinny')}, file store", traces / spent, "traces/s", "not durable at once")


def clustered(count, dimensions=384, centres=300):
    """Vectors around centres, as the benchmark of growth has them."""
    import numpy

    draw = numpy.random.default_rng(7)
    middle = draw.standard_normal((centres, dimensions))
    vectors = middle[draw.integers(centres, size=count)] + 0.5 * draw.standard_normal((count, dimensions))
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype("float32")


def queries(what, vectors, ask, note):
    times, cpu = [], time.process_time()
    for vector in vectors[: 50 if QUICK else 200]:
        began = time.perf_counter()
        assert len(ask(vector)) == 10
        times.append((time.perf_counter() - began) * 1e3)
    cpu = (time.process_time() - cpu) / len(times) * 1e3
    times.sort()
    p99 = times[len(times) * 99 // 100]
    show(what, statistics.median(times), "ms p50", f"{p99:.2f} ms p99, {cpu:.2f} ms CPU; {note}")


def sqlite_vec(vectors):
    # The sqlite3 module of many a Python loads no extensions.
    import apsw
    import sqlite_vec

    with tempfile.TemporaryDirectory() as folder:
        db = apsw.Connection(f"{folder}/bench.db")
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{vectors.shape[1]}] distance_metric=cosine)")
        rows = ((n, vector.tobytes()) for n, vector in enumerate(vectors))
        with db:
            db.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", rows)
        select = "SELECT rowid FROM v WHERE e MATCH ? AND k = 10"
        ask = lambda vector: db.execute(select, (vector.tobytes(),)).fetchall()
        queries(f"{version('sqlite-vec')}, {len(vectors):,} vectors", vectors, ask, "exact")
        db.close()


def lancedb(vectors):
    import lancedb
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1])
        table = lancedb.connect(folder).create_table("v", pyarrow.table({"vector": column}))
        ask = lambda vector: table.search(vector).distance_type("cosine").limit(10).to_list()
        queries(f"{version('lancedb')}, {len(vectors):,} vectors", vectors, ask, "exact, no index")


def chroma(vectors):
    import chromadb

    with tempfile.TemporaryDirectory() as folder:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=folder, settings=settings)
        collection = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
        for start in range(0, len(vectors), 5_000):
            part = vectors[start : start + 5_000]
            collection.add(ids=[str(start + n) for n in range(len(part))], embeddings=part)
        ask = lambda vector: collection.query(query_embeddings=[vector], n_results=10, include=[])["ids"][0]
        queries(f"{version('chromadb')}, {len(vectors):,} vectors", vectors, ask, "approximate (HNSW)")


def attempt(name, measure, *arguments):
    try:
        measure(*arguments)
    except Exception as problem:  # A peer that does not work here must not hide the others.
        print(f"{name:<52} skipped: {type(problem).__name__}: {str(problem).splitlines()[0]}", flush=True)


def main():
    logging.disable(logging.WARNING)
    print("A run of 13 messages and 4 kB, sent to a sink on this machine")
    attempt("reflect-sdk (Python)", reflect_python)
    attempt("opentelemetry-sdk (Python)", opentelemetry_python)
    print("\nThe same run, stored")
    attempt("mlflow", mlflow)
    for count in (10_000,) if QUICK else (10_000, 100_000):
        print(f"\nThe 10 nearest of {count:,} vectors of 384 dimensions, around 300 centres")
        vectors = clustered(count)
        attempt("sqlite-vec", sqlite_vec, vectors)
        attempt("lancedb", lancedb, vectors)
        attempt("chromadb", chroma, vectors)


if __name__ == "__main__":
    main()
