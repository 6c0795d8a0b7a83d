"""The context manager and the decorator, in all their forms."""

import asyncio

import pytest
from reflect_sdk import TraceResult, reflect_trace

RUN = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "an answer"}]


class Stop(Exception):
    pass


def only(client):
    [trace] = client.list_traces()
    return trace


def test_the_context_submits_what_was_set_with_what_was_retrieved(client):
    with client.trace("Refund order 7", blocking=True) as ctx:
        assert ctx.augmented_task == "Refund order 7" and ctx.memories == []
        ctx.set_output(trajectory=RUN, result="fail", feedback_text="Ask for the receipt first")
    learned = client.get_trace(ctx.trace_id).created_memory_id
    with client.trace("Refund order 8", limit=5, lambda_=0.2) as ctx:
        assert ctx.memory_ids == [learned]
        assert "receipt" in ctx.augmented_task
        ctx.set_output(trajectory=RUN, model="m", metadata={"k": [1, {"deep": None}]})
    trace = client.get_trace(ctx.trace_id)
    assert trace.retrieved_memory_ids == [learned]
    assert (trace.review_status, trace.metadata) == ("pending", {"k": [1, {"deep": None}]})


def test_an_exception_after_the_output_is_a_fail(client):
    with pytest.raises(Stop):
        with client.trace("t", blocking=True) as ctx:
            ctx.set_output(trajectory=RUN, result="pass")
            raise Stop("the tool broke")
    trace = client.get_trace(ctx.trace_id)
    assert (trace.review.result, trace.review.feedback_text) == ("fail", "the tool broke")


def test_a_run_without_output_is_not_submitted(client):
    with client.trace("t"):
        pass
    with pytest.raises(Stop):
        with client.trace("t"):
            raise Stop
    with pytest.raises(Stop):
        with client.trace("t", auto_fail_on_exception=False) as ctx:
            ctx.set_output(trajectory=RUN, result="pass")
            raise Stop
    assert client.list_traces() == []


def test_the_async_context(client):
    async def run():
        async with client.trace_async("Refund order 7", blocking=True) as ctx:
            ctx.set_output(trajectory=RUN, result="pass")
        done = await client.get_trace_async(ctx.trace_id)
        assert done.review_status == "reviewed"
        found = await client.query_memories_async(task="Refund order 7")
        assert [memory.id for memory in found] == [done.created_memory_id]
        assert await client.get_skill_async() is None
        sent = await client.create_trace_async(task="t", trajectory=RUN, review_result="fail")
        waited = await client.wait_for_trace_async(sent.id, require_reviewed=True)
        assert waited.review.result == "fail"
        with pytest.raises(Stop):
            async with client.trace_async("t", blocking=True) as ctx:
                ctx.set_output(trajectory=RUN)
                raise Stop("no")
        assert (await client.get_trace_async(ctx.trace_id)).review.feedback_text == "no"

    asyncio.run(run())


def test_many_async_runs_at_once(client):
    async def run():
        async def one(n):
            async with client.trace_async(f"task {n}", blocking=True) as ctx:
                ctx.set_output(trajectory=RUN, result="pass")
            return ctx.trace_id

        return await asyncio.gather(*(one(n) for n in range(16)))

    ids = asyncio.run(run())
    memories = {client.get_trace(trace).created_memory_id for trace in ids}
    assert len(memories) == 16 and None not in memories


def test_the_decorator_with_a_trace_result(client):
    @reflect_trace(client, task=lambda question, **_: f"Q: {question}", blocking=True)
    def answer(ctx, question, *, loud=False):
        assert ctx.task == "Q: why"
        return TraceResult(output=question.upper(), trajectory=RUN, result="pass", model="m")

    assert answer("why", loud=True) == "WHY"
    trace = only(client)
    assert (trace.task, trace.model, trace.review.result) == ("Q: why", "m", "pass")
    # The output goes to the caller only: the answer is taken from the trajectory.
    assert trace.final_response == "an answer"


def test_the_decorator_with_a_string(client):
    @reflect_trace(client)
    def shout(ctx, question):
        return ctx.augmented_task.upper()

    assert shout("why") == "WHY"
    trace = only(client)
    assert (trace.task, trace.final_response, trace.review_status) == ("why", "WHY", "pending")
    assert trace.trajectory == [{"role": "assistant", "content": "WHY"}]


def test_the_decorator_without_context_and_with_other_results(client):
    @reflect_trace(client, task="fixed", inject_context=False)
    def count(things):
        return len(things)

    assert count([1, 2]) == 2
    assert client.list_traces() == []

    @reflect_trace(client, inject_context=False)
    def keyword_only(*, question):
        return question

    assert keyword_only(question="why") == "why"
    assert only(client).task == "unknown"


def test_the_decorator_on_a_coroutine(client):
    @reflect_trace(client, blocking=True)
    async def answer(ctx, question):
        await asyncio.sleep(0)
        return TraceResult(output="out", trajectory=RUN, result="fail", feedback_text="why not")

    assert asyncio.run(answer("why")) == "out"
    assert only(client).review.feedback_text == "why not"


def test_the_decorator_fails_a_run_that_raises_only_after_output(client):
    @reflect_trace(client)
    def broken(ctx, question):
        ctx.set_output(trajectory=RUN)
        raise Stop("broke")

    with pytest.raises(Stop):
        broken("why")
    trace = client.wait_for_trace(only(client).id, require_reviewed=True)
    assert (trace.review.result, trace.review.feedback_text) == ("fail", "broke")
