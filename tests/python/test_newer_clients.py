"""What clients from 0.3.4 on send and read, which cannot be installed, as raw requests."""

import uuid

import httpx
import pytest
from conftest import MASTER


@pytest.fixture
def http(server):
    base = f"{server.url}/v1/projects/{uuid.uuid4()}"
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {MASTER}"}) as client:
        yield client


def create_memory(http, task, result="pass", retrieved=(), metadata=None):
    answer = http.post("/traces", json={
        "task": task, "trajectory": [], "retrieved_memory_ids": list(retrieved), "model": None,
        "metadata": metadata or {},
        "review": {"result": result, "reflection": {
            "summary": "What happened", "guidance": "What to do", "key_mistake": "What was wrong",
            "correct_action": "What was right", "applicable_tools": ["refund"]}},
    })
    assert answer.status_code == 201, answer.text
    assert answer.json()["ingest_status"] == "completed"
    return http.get(f"/traces/{answer.json()['trace_id']}").json()["created_memory_id"]


def query(http, task, **more):
    body = {"task": task, "limit": 10, "lambda": 0.5, "mmr_lambda": 0.7, **more}
    answer = http.post("/memory/query", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_authored_memory_is_there_at_once_with_all_its_fields(http):
    memory = create_memory(http, "Refund order 7", "fail")
    [found] = query(http, "Refund order 8")
    assert found["id"] == memory
    assert found["summary"] == "What happened"
    assert found["guidance"] == "What to do"
    assert found["key_mistake"] == "What was wrong"
    assert found["correct_action"] == "What was right"
    assert found["applicable_tools"] == ["refund"]
    assert found["tools_used"] == []
    assert found["success"] is False


def test_alpha_overrides_how_far_memories_move(http):
    memory = create_memory(http, "Refund order 7")
    sent = http.post("/traces", json={
        "task": "Refund order 8", "trajectory": "done", "retrieved_memory_ids": [memory],
        "model": None, "metadata": {}, "reference_context": "the refund policy"}).json()
    judged = http.post(f"/traces/{sent['trace_id']}/review",
                       json={"result": "pass", "feedback_text": None, "alpha": 0.5}).json()
    assert judged["reference_context"] == "the refund policy"
    moved = {m["id"]: m["q_value"] for m in query(http, "Refund order 7")}
    assert moved[memory] == pytest.approx(0.75)


def test_filters_thresholds_and_variety(http):
    here = create_memory(http, "Refund order 7", metadata={"team": "eu", "tags": ["a", "b"]})
    create_memory(http, "Refund order 9", metadata={"team": "us"})
    assert [m["id"] for m in query(http, "Refund", metadata_filter={"team": "eu"})] == [here]
    assert [m["id"] for m in query(http, "Refund", metadata_filter={"tags": "b"})] == [here]
    assert query(http, "Refund", metadata_filter={"team": "eu", "tags": "c"}) == []
    near = query(http, "Refund order 7", similarity_threshold=0.999, mmr_lambda=1.0)
    assert [m["id"] for m in near] == [here]
    assert len(query(http, "Refund order 7", similarity_threshold=-1.0, mmr_lambda=0.0)) == 2


def test_traces_and_projects_are_deleted(http):
    sent = http.post("/traces", json={"task": "t", "trajectory": "d"}).json()
    gone = http.post("/traces/delete", json={"trace_ids": [sent["trace_id"], "never"]})
    assert gone.json() == {"deleted": 1, "trace_ids": [sent["trace_id"]]}
    create_memory(http, "Refund order 7")
    project = str(http.base_url).rstrip("/")
    gone = http.delete(project).json()
    assert gone == {"project_id": project.rsplit("/", 1)[1], "deleted": True}
    assert query(http, "Refund order 7") == []


def test_a_skill_is_written_and_read(http):
    assert http.get("/skill").status_code == 404
    create_memory(http, "Refund order 7", "pass")
    create_memory(http, "Refund order 8", "fail")
    first = http.post("/skill/create", json={})
    assert first.status_code == 200, first.text
    assert first.json()["version"] == 1
    assert first.json()["content"].startswith("---\n")
    second = http.post("/skill/create", json={"n_passed": 1, "n_failed": 1}).json()
    assert second["version"] == 2 and second["source_memory_ids"] and second["created_at"]
    assert http.get("/skill").json() == second
