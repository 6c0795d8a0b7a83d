#!/usr/bin/env python3
"""Writes the fixtures of `Trajectory::from_…`: runs as the libraries themselves write them.

    pip install openai anthropic langchain deepagents openai-agents reflect-sdk==0.3.3
    python3 tests/python/make_conversations.py

Each library runs one agent against a scripted model, and its own serialization is stored in
`reflect-types/src/convert/fixtures/`, with what the published client's converter makes of it.
"""

import asyncio
import http.server
import json
import pathlib
import threading
from importlib.metadata import version

import agents
import anthropic
import openai
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from openai.types.responses import (
    ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText, ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary
from reflect_sdk.converters import from_deepagents, from_openai_agents

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "reflect-types/src/convert/fixtures"
RULES, TASK, ANSWER = "Answer in one sentence.", "What is the weather in Oslo?", "Take an umbrella."
RAIN = "4 degrees, rain"


def scripted(replies):
    """The address of a server that answers each request with the next reply."""
    replies = iter(replies)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps(next(replies)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def openai_chat():
    def completion(message, reason):
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted",
                "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}]}

    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    client = openai.OpenAI(api_key="none", base_url=scripted([
        completion({"content": None, "tool_calls": [call]}, "tool_calls"),
        completion({"content": ANSWER}, "stop"),
    ]))
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": TASK}]
    first = client.chat.completions.create(model="scripted", messages=messages)
    messages.append(first.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": RAIN})
    last = client.chat.completions.create(model="scripted", messages=messages)
    messages.append(last.choices[0].message.model_dump())
    return {"made_with": f"openai {openai.__version__}", "messages": messages, "completion": last.model_dump()}


def anthropic_messages():
    def reply(content, reason):
        return {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": content,
                "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}

    client = anthropic.Anthropic(api_key="none", base_url=scripted([
        reply([{"type": "thinking", "thinking": "A tool knows.", "signature": "s"},
               {"type": "text", "text": "I look it up."},
               {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}}], "tool_use"),
        reply([{"type": "text", "text": ANSWER}], "end_turn"),
    ]))
    messages = [{"role": "user", "content": TASK}]

    def ask():
        return client.messages.create(model="scripted", max_tokens=100, system=RULES, messages=messages)

    first = ask()
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]})
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": RAIN}], "is_error": False},
        {"type": "text", "text": "Be short."},
    ]})
    last = ask()
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in last.content]})
    return {"made_with": f"anthropic {anthropic.__version__}",
            "request": {"system": RULES, "messages": messages}, "response": last.model_dump(mode="json")}


class Scripted(BaseChatModel):
    """A model that gives the answers it was made with."""

    answers: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0))])


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return RAIN


def langchain():
    model = Scripted(answers=[
        AIMessage(content=[{"type": "text", "text": "I look it up."}],
                  tool_calls=[{"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}]),
        AIMessage(content=ANSWER),
    ])
    agent = create_agent(model, [weather])
    done = agent.invoke({"messages": [{"role": "system", "content": RULES}, {"role": "user", "content": TASK}]})
    messages = done["messages"]
    return {"made_with": f"langchain {version('langchain')}, langgraph {version('langgraph')}",
            "model_dump": [message.model_dump(mode="json") for message in messages],
            "messages_to_dict": messages_to_dict(messages),
            "dumpd": dumpd(messages),
            "published_client": from_deepagents(messages)}


def deepagents():
    model = Scripted(answers=[
        AIMessage(content="", tool_calls=[{"id": "call_0", "name": "ls", "args": {"path": "/"}}]),
        AIMessage(content="I look it up.",
                  tool_calls=[{"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}]),
        AIMessage(content=ANSWER),
    ])
    done = create_deep_agent(model=model, tools=[weather]).invoke({"messages": [{"role": "user", "content": TASK}]})
    messages = done["messages"]
    return {"made_with": f"deepagents {version('deepagents')}",
            "messages_to_dict": messages_to_dict(messages),
            "published_client": from_deepagents(messages)}


class ScriptedAgentModel(agents.Model):
    def __init__(self, answers):
        self.answers = iter(answers)

    async def get_response(self, *_, **__):
        return agents.ModelResponse(output=next(self.answers), usage=agents.Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def openai_agents():
    @agents.function_tool(name_override="weather")
    def weather_of(city: str) -> str:
        """The weather of a city."""
        return RAIN

    model = ScriptedAgentModel([
        [ResponseReasoningItem(id="rs_1", type="reasoning", summary=[Summary(type="summary_text", text="A tool knows.")]),
         ResponseFunctionToolCall(id="fc_1", call_id="call_1", type="function_call", name="weather",
                                  arguments='{"city": "Oslo"}')],
        [ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed",
                               content=[ResponseOutputText(type="output_text", text=ANSWER, annotations=[])])],
    ])
    agents.set_tracing_disabled(True)
    agent = agents.Agent(name="scripted", instructions=RULES, model=model, tools=[weather_of])
    done = asyncio.run(agents.Runner.run(agent, TASK))
    return {"made_with": f"openai-agents {version('openai-agents')}, openai {openai.__version__}",
            "items": done.to_input_list(), "published_client": from_openai_agents(done)}


for name, made in [("openai_chat", openai_chat()), ("anthropic", anthropic_messages()),
                   ("langchain", langchain()), ("deepagents", deepagents()), ("openai_agents", openai_agents())]:
    path = FIXTURES / f"{name}.json"
    path.write_text(json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(path.name, "by", made["made_with"])
