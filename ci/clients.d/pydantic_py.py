"""Pydantic AI: its OpenAI models over Chat Completions and Responses, its Anthropic model over Messages."""
import asyncio

import anthropic
import cases
import openai
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def get_weather(city: str) -> str:
    """The weather of a city."""
    return cases.get_weather(city)


def subtract(a: int, b: int) -> str:
    """a less b."""
    return cases.subtract(a, b)


class City(BaseModel):
    city: str
    population: int


class Pydantic:
    def __init__(self, base):
        self.base = base

    async def streamed(self, agent, prompt):
        text = ""
        try:
            async with agent.run_stream(prompt) as result:
                async for piece in result.stream_text(delta=True, debounce_by=None):
                    text += piece
                return result, text
        except Exception as e:
            raise cases.Partial(text, e) from e

    def run(self, agent, prompt, stream):
        if stream:
            return asyncio.run(self.streamed(agent, prompt))
        result = asyncio.run(agent.run(prompt))
        return result, result.output

    def loop(self, prompt, stream):
        async def drain(_, events):
            async for _ in events:
                pass

        agent = Agent(self.model(2), tools=[get_weather, subtract])  # run_stream would end with the first text
        result = asyncio.run(agent.run(prompt, event_stream_handler=drain if stream else None))
        calls = [[p.tool_name, p.args_as_dict()] for m in result.all_messages() for p in m.parts if isinstance(p, ToolCallPart)]
        usage = result.usage() if callable(result.usage) else result.usage
        return {"calls": calls, "text": result.output, "usage": [usage.input_tokens, usage.output_tokens]}

    def structured(self, prompt):
        return self.run(Agent(self.model(2), output_type=NativeOutput(City)), prompt, False)[0].output.model_dump()

    def ask(self, prompt, stream, retries=2):
        return self.run(Agent(self.model(retries)), prompt, stream)[1]


class OpenAI(Pydantic):
    def model(self, retries):
        client = openai.AsyncOpenAI(base_url=self.base + "/v1", api_key="sk-test", max_retries=retries)
        return self.kind("fake-1", provider=OpenAIProvider(openai_client=client))


class Chat(OpenAI):
    kind = OpenAIChatModel


class Responses(OpenAI):
    kind = OpenAIResponsesModel


class Messages(Pydantic):
    def model(self, retries):
        client = anthropic.AsyncAnthropic(base_url=self.base, api_key="sk-ant-test", max_retries=retries)
        return AnthropicModel("fake-1", provider=AnthropicProvider(anthropic_client=client),
                              profile=ModelProfile(supports_json_schema_output=True))


cases.main("pydantic_py", {"chat": Chat, "responses": Responses, "messages": Messages})
