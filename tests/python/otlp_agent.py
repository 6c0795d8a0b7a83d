"""An agent with a tool, instrumented by the library that the first argument names.

Started by test_otlp.py, since an instrumentation changes the whole process.
"""

import json
import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

if sys.argv[1] == "openinference":
    from openinference.instrumentation.openai import OpenAIInstrumentor
elif sys.argv[1] == "openllmetry":
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
else:
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

provider = TracerProvider()
# One request a span, or one for all.
processor = SimpleSpanProcessor if "each" in sys.argv else BatchSpanProcessor
provider.add_span_processor(processor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
logs = LoggerProvider()
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
set_logger_provider(logs)
OpenAIInstrumentor().instrument()

TOOLS = [{"type": "function", "function": {
    "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
messages = [{"role": "system", "content": "Be short."},
            {"role": "user", "content": "What is the weather in Oslo?"}]
attributes = {"reflect.memory_ids": ["m-1"], "reflect.metadata.ticket": "123", "session.id": "s-1"}
with trace.get_tracer("agent").start_as_current_span("answer", attributes=attributes):
    client = OpenAI()
    while True:
        reply = client.chat.completions.create(
            model="gpt-5.4-mini", messages=messages, tools=TOOLS).choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            assert json.loads(call.function.arguments) == {"city": "Oslo"}
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "4 degrees, rain"})
logs.shutdown()
provider.shutdown()
