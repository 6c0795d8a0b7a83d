"""Every call of the published client, as its users make them."""

import httpx
import pytest
from conftest import BOOTSTRAP
from reflect_sdk import ReflectClient

MESSAGES = [
    {"role": "user", "content": "Refund order 7"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "outside the window"},
    {"role": "assistant", "content": "Done, 20 EUR are on their way."},
]


def status(error):
    return error.value.response.status_code


def test_health_needs_no_key(server):
    health = ReflectClient(base_url=server.url, api_key="none").health()
    assert health["status"] == "ok"
    assert all(isinstance(value, str) for value in health.values())


def test_bootstrap_makes_an_admin_key(server):
    made = ReflectClient.bootstrap(
        base_url=server.url, bootstrap_token=BOOTSTRAP, user_id="ada", project_id="booted"
    )
    assert (made.user_id, made.project_id) == ("ada", "booted")
    admin = server.client("booted", made.api_key)
    assert admin.list_traces() == []
    [key] = admin.list_api_keys()
    assert key.label == "Default Admin Key" and not key.is_master and key.last_used_at
    with pytest.raises(httpx.HTTPStatusError) as error:
        server.client("another", made.api_key).list_traces()
    assert status(error) == 403
    with pytest.raises(httpx.HTTPStatusError) as error:
        ReflectClient.bootstrap(
            base_url=server.url, bootstrap_token="wrong", user_id="eve", project_id="booted"
        )
    assert status(error) == 401


def test_keys_are_made_listed_and_revoked(server, client):
    made = client.create_api_key(
        label="agent", scopes=["memory:read", "trace:write", "review:write"], environment="test"
    )
    assert made.api_key.startswith("rf_test_")
    assert made.key.status == "active" and made.key.created_at
    agent = server.client(client.project_id, made.api_key)
    assert agent.query_memories(task="anything") == []
    agent.create_trace(task="t", trajectory=MESSAGES, review_result="pass")
    with pytest.raises(httpx.HTTPStatusError) as error:
        agent.list_traces()
    assert status(error) == 403
    revoked = client.revoke_api_key(made.key.id)
    assert revoked.status == "revoked" and revoked.revoked_at
    with pytest.raises(httpx.HTTPStatusError) as error:
        agent.query_memories(task="anything")
    assert status(error) == 401
    assert [key.id for key in client.list_api_keys()] == [made.key.id]


def test_a_trace_without_a_review_is_completed_and_pending(client):
    sent = client.create_trace(
        task="Refund order 7", trajectory=MESSAGES, model="gpt-5.4-mini", metadata={"team": "eu"}
    )
    assert sent.ingest_status == "completed"
    trace = client.get_trace(sent.id)
    assert trace.trajectory == MESSAGES
    assert trace.final_response == "Done, 20 EUR are on their way."
    assert (trace.review_status, trace.review) == ("pending", None)
    assert (trace.model, trace.metadata) == ("gpt-5.4-mini", {"team": "eu"})
    assert [found.id for found in client.list_traces(review_status="pending")] == [sent.id]
    assert client.list_traces(review_status="reviewed") == []


def test_any_form_of_trajectory_is_read(client):
    import json

    as_text = client.get_trace(client.create_trace(task="t", trajectory=json.dumps(MESSAGES)).id)
    assert as_text.trajectory == MESSAGES
    prose = client.get_trace(client.create_trace(task="t", trajectory="I did it.").id)
    assert prose.trajectory == [{"role": "assistant", "content": "I did it."}]
    assert prose.final_response == "I did it."
    empty = client.get_trace(client.create_trace(task="t", trajectory=[]).id)
    assert (empty.trajectory, empty.final_response) == ([], "")
    given = client.create_trace(task="t", trajectory="prose", final_response="the answer")
    assert client.get_trace(given.id).final_response == "the answer"


def test_an_inline_review_is_queued_and_waited_for(client):
    sent = client.create_trace(
        task="Refund order 7", trajectory=MESSAGES, review_result="failure",
        feedback_text="It was outside the refund window",
    )
    assert sent.ingest_status == "queued"
    trace = client.wait_for_trace(sent.id, require_reviewed=True)
    assert trace.ingest_status == "completed" and trace.created_memory_id
    assert (trace.review.result, trace.review.mode) == ("fail", "inline")
    assert trace.review.feedback_text == "It was outside the refund window"
    # The memory is there as soon as the trace reads as reviewed.
    [memory] = client.query_memories(task="Refund order 8")
    assert memory.id == trace.created_memory_id
    assert (memory.q_value, memory.success) == (0.5, False)
    assert "refund window" in memory.reflection
    augmented = client.augment_with_memories(task="Refund order 8", limit=3)
    assert augmented.augmented_task.startswith("Refund order 8\n\n<relevant_memories>")
    assert memory.id in augmented.augmented_task


def test_a_deferred_review_is_there_when_the_call_returns(client):
    sent = client.create_trace(task="Water the plants", trajectory=MESSAGES)
    judged = client.review_trace(sent.id, result="success")
    assert judged.review_status == "reviewed" and judged.created_memory_id
    assert (judged.review.result, judged.review.mode) == ("pass", "deferred")
    again = client.review_trace(sent.id, result="pass")
    assert again.created_memory_id == judged.created_memory_id
    with pytest.raises(httpx.HTTPStatusError) as error:
        client.review_trace(sent.id, result="fail", feedback_text="on second thought")
    assert status(error) == 409
    with pytest.raises(httpx.HTTPStatusError) as error:
        client.review_trace(sent.id, result="perhaps")
    assert status(error) == 422


def test_what_is_unknown_is_404_and_waiting_gives_up(client):
    with pytest.raises(httpx.HTTPStatusError) as error:
        client.get_trace("00000000-0000-0000-0000-000000000000")
    assert status(error) == 404
    with pytest.raises(TimeoutError):
        client.wait_for_trace("unknown", poll_interval=0.01, wait_timeout=0.05)


def test_reviews_move_what_was_retrieved_and_lambda_weighs_it(client):
    def learn(task):
        trace = client.create_trace_and_wait(
            task=task, trajectory=MESSAGES, review_result="pass"
        )
        return trace.created_memory_id

    close, far = learn("Refund the order of a customer"), learn("Refund an order late at night")
    for _ in range(3):
        client.create_trace_and_wait(
            task="Something else entirely", trajectory="done", review_result="pass",
            retrieved_memory_ids=[far, far, "never-there"],
        )
    q = {m.id: m.q_value for m in client.query_memories(task="Refund an order")}
    assert q[close] == 0.5
    assert q[far] == pytest.approx(1 - 0.5 * 0.7**3)

    def first(lambda_):
        found = client.query_memories(
            task="Refund the order of a customer", limit=1, lambda_=lambda_
        )
        return found[0].id

    # 0 is similarity alone, 1 is utility alone.
    assert first(0.0) == close
    assert first(1.0) == far
    scores = client.query_memories(task="Refund the order of a customer", lambda_=0.25)
    for memory in scores:
        blend = 0.75 * memory.similarity + 0.25 * memory.q_value
        assert memory.score == pytest.approx(blend, abs=1e-6)


def test_a_project_without_a_skill_has_none(client):
    assert client.get_skill() is None


def test_a_bad_limit_is_refused(client):
    for limit in (0, 101):
        with pytest.raises(httpx.HTTPStatusError) as error:
            client.query_memories(task="t", limit=limit)
        assert status(error) == 422
