"""The OpenAI Agents SDK, over Chat Completions and Responses."""
import asyncio
import json

import cases
import openai
from agents import (Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
                    set_tracing_disabled)
from pydantic import BaseModel

set_tracing_disabled(True)


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return cases.get_weather(city)


@function_tool
def subtract(a: int, b: int) -> str:
    """a less b."""
    return cases.subtract(a, b)


class City(BaseModel):
    city: str
    population: int


class Agents:
    def __init__(self, base):
        self.base = base

    def agent(self, retries=2, **more):
        client = openai.AsyncOpenAI(base_url=self.base + "/v1", api_key="sk-test", max_retries=retries)
        return Agent(name="Tester", model=self.kind("fake-1", client), **more)

    async def streamed(self, agent, prompt):
        text, result = "", Runner.run_streamed(agent, prompt)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    text += event.data.delta
        except Exception as e:
            raise cases.Partial(text, e) from e
        return result

    def run(self, agent, prompt, stream):
        return asyncio.run(self.streamed(agent, prompt) if stream else Runner.run(agent, prompt))

    def loop(self, prompt, stream):
        from agents import ModelSettings
        agent = self.agent(tools=[get_weather, subtract], model_settings=ModelSettings(include_usage=True))
        result = self.run(agent, prompt, stream)
        calls = [[i.raw_item.name, json.loads(i.raw_item.arguments)] for i in result.new_items if i.type == "tool_call_item"]
        usage = result.context_wrapper.usage
        return {"calls": calls, "text": result.final_output, "usage": [usage.input_tokens, usage.output_tokens]}

    def structured(self, prompt):
        return self.run(self.agent(output_type=City), prompt, False).final_output.model_dump()

    def ask(self, prompt, stream, retries=2):
        return self.run(self.agent(retries), prompt, stream).final_output


class Chat(Agents):
    kind = OpenAIChatCompletionsModel


class Responses(Agents):
    kind = OpenAIResponsesModel


cases.main("agents_py", {"chat": Chat, "responses": Responses})
