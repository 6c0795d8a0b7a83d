#!/usr/bin/env python3
"""Measures other projects with the payloads of our own benchmarks: `cargo xtask bench peers`.

    peers.py sdks SINK              a run that is recorded and sent to the address of the sink
    peers.py traces                 the same run, stored
    peers.py vectors FOLDER COUNT   queries of vectors, which are left in the folder for other programs

A line each: what it is, its number and a note, with tabs between them. CPU time is that of this process.
"""

import importlib.metadata
import json
import logging
import pathlib
import statistics
import sys
import tempfile
import time
import urllib.request

TURN = "The customer asks for a refund of an order that is older than thirty days. " * 4
MESSAGES = [
    {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n}: {TURN}"} for n in range(13)
]
PROBES = 200


def row(what, value, note):
    print(what, value, note, sep="\t", flush=True)


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def received(sink):
    """The bytes that the sink has got so far."""
    with urllib.request.urlopen(sink) as reply:
        return int(reply.read())


def check(sink, before, runs):
    got, least = received(sink) - before, runs * sum(len(message["content"]) for message in MESSAGES)
    if got < least:
        raise ValueError(f"the sink got {got} bytes, too few for {runs} runs")


def reflect_python(sink):
    from reflect_sdk import ReflectClient

    calls = 500
    client = ReflectClient(base_url=sink, api_key="rf_test_x", project_id="bench")
    record = lambda: client.create_trace(task="Refund order 7", trajectory=MESSAGES)
    record()
    before = received(sink)
    began = time.process_time()
    for _ in range(calls):
        record()
    spent = time.process_time() - began
    check(sink, before, calls)
    row(f"{version('reflect-sdk')} (Python), create_trace", spent / calls * 1e6, "a client, with its TLS context, a call")


def opentelemetry_python(sink):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    calls = 2_000
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{sink}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=4 * calls))
    tracer = provider.get_tracer("bench")

    def record():
        with tracer.start_as_current_span("invoke_agent") as span:
            span.set_attribute("gen_ai.input.messages", json.dumps(MESSAGES))

    record()
    provider.force_flush()
    before = received(sink)
    began = time.process_time()
    for _ in range(calls):
        record()
    provider.force_flush()
    spent = time.process_time() - began
    check(sink, before, calls)
    provider.shutdown()
    row(f"{version('opentelemetry-sdk')} (Python), a span", spent / calls * 1e6, "spans in batches")


def mlflow():
    import mlflow

    traces = 300
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/bench.db")
        # By default, files would be left in the current folder.
        mlflow.create_experiment("bench", artifact_location=f"file://{folder}/artifacts")
        mlflow.set_experiment("bench")

        def record():
            with mlflow.start_span(name="agent") as span:
                span.set_inputs({"messages": MESSAGES})
                span.set_outputs("done")

        record()
        mlflow.flush_trace_async_logging()
        began = time.perf_counter()
        for _ in range(traces):
            record()
        mlflow.flush_trace_async_logging(terminate=True)
        spent = time.perf_counter() - began
    row(f"{version('mlflow-skinny')}, SQLite", traces / spent, "in the background, until the last is stored")


def clustered(count, dimensions=384, centres=300):
    """Unit vectors around centres."""
    import numpy

    draw = numpy.random.default_rng(7)
    middle = draw.standard_normal((centres, dimensions))
    vectors = middle[draw.integers(centres, size=count)] + 0.5 * draw.standard_normal((count, dimensions))
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype("<f4")


def queries(what, probes, ask, note):
    times, cpu = [], time.process_time()
    for probe in probes:
        began = time.perf_counter()
        assert len(ask(probe)) == 10
        times.append((time.perf_counter() - began) * 1e3)
    cpu = (time.process_time() - cpu) / len(times) * 1e3
    times.sort()
    p99 = times[len(times) * 99 // 100]
    row(what, statistics.median(times), f"{p99:.2f} ms p99, {cpu:.2f} ms CPU; {note}")


def sqlite_vec(vectors, probes):
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
        queries(version("sqlite-vec"), probes, ask, "exact")
        db.close()


def lancedb(vectors, probes):
    import lancedb
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1])
        table = lancedb.connect(folder).create_table("v", pyarrow.table({"vector": column}))
        ask = lambda vector: table.search(vector).distance_type("cosine").limit(10).to_list()
        queries(version("lancedb"), probes, ask, "exact, no index")


def chroma(vectors, probes):
    import chromadb

    with tempfile.TemporaryDirectory() as folder:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=folder, settings=settings)
        collection = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
        for start in range(0, len(vectors), 5_000):
            part = vectors[start : start + 5_000]
            collection.add(ids=[str(start + n) for n in range(len(part))], embeddings=part)
        ask = lambda vector: collection.query(query_embeddings=[vector], n_results=10, include=[])["ids"][0]
        queries(version("chromadb"), probes, ask, "approximate (HNSW)")


def attempt(name, measure, *arguments):
    try:
        measure(*arguments)
    except Exception as problem:  # A peer that does not work here must not hide the others.
        print(f"{name}\tskipped\t{type(problem).__name__}: {(str(problem).splitlines() or [''])[0]}", flush=True)


def main():
    logging.disable(logging.WARNING)
    match sys.argv[1:]:
        case ["sdks", sink]:
            attempt("reflect-sdk (Python)", reflect_python, sink)
            attempt("opentelemetry-sdk (Python)", opentelemetry_python, sink)
        case ["traces"]:
            attempt("mlflow-skinny", mlflow)
        case ["vectors", folder, count]:
            # The last ones are stored nowhere.
            vectors = clustered(int(count) + PROBES)
            vectors, probes = vectors[:-PROBES], vectors[-PROBES:]
            for name, part in (("vectors", vectors), ("probes", probes)):
                (pathlib.Path(folder) / f"{name}.f32").write_bytes(part.tobytes())
            attempt("sqlite-vec", sqlite_vec, vectors, probes)
            attempt("lancedb", lancedb, vectors, probes)
            attempt("chromadb", chroma, vectors, probes)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
