"""A small agent with OpenAI's SDK for Python: it answers the question on its standard input with one tool.

It knows nothing of assay: the SDK asks wherever OPENAI_BASE_URL says."""
import json
import sys

import openai

TOOLS = [{"type": "function", "function": {
    "name": "subtract", "description": "a - b",
    "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}}}]

client = openai.OpenAI()
messages = [{"role": "user", "content": sys.stdin.read()}]
for _ in range(8):
    message = client.chat.completions.create(model="fake-1", messages=messages, tools=TOOLS).choices[0].message
    if not message.tool_calls:
        print(message.content)
        break
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        args = json.loads(call.function.arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": f"{args['a'] - args['b']:.1f}"})
else:
    sys.exit("no answer after 8 steps")
