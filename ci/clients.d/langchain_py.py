"""LangChain: ChatOpenAI over Chat Completions and Responses, ChatAnthropic over Messages."""
import cases
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return cases.get_weather(city)


@tool
def subtract(a: int, b: int) -> str:
    """a less b."""
    return cases.subtract(a, b)


TOOLS = {"get_weather": get_weather, "subtract": subtract}


def text_of(message):
    content = message.content
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content if isinstance(b, dict))


class LangChain:
    def __init__(self, base):
        self.base = base

    def loop(self, prompt, stream):
        model, calls, usage = self.model(2).bind_tools(list(TOOLS.values())), [], [0, 0]
        messages = [HumanMessage(prompt)]
        while True:
            if stream:
                done = None
                for chunk in model.stream(messages):
                    done = chunk if done is None else done + chunk
            else:
                done = model.invoke(messages)
            usage = [usage[0] + done.usage_metadata["input_tokens"], usage[1] + done.usage_metadata["output_tokens"]]
            messages.append(done)
            if not done.tool_calls:
                return {"calls": calls, "text": text_of(done), "usage": usage}
            for c in done.tool_calls:
                calls.append([c["name"], c["args"]])
                messages.append(ToolMessage(TOOLS[c["name"]].invoke(c["args"]), tool_call_id=c["id"]))

    def structured(self, prompt):
        schema = dict(cases.CITY, title="city", description="A city.")
        return self.model(2).with_structured_output(schema, method="json_schema").invoke(prompt)

    def ask(self, prompt, stream, retries=2):
        model, text = self.model(retries), ""
        if not stream:
            return text_of(model.invoke(prompt))
        try:
            for chunk in model.stream(prompt):
                text += text_of(chunk)
        except Exception as e:
            raise cases.Partial(text, e) from e
        return text


class Chat(LangChain):
    def model(self, retries):
        return ChatOpenAI(model="fake-1", base_url=self.base + "/v1", api_key="sk-test", max_retries=retries, stream_usage=True)


class Responses(LangChain):
    def model(self, retries):
        return ChatOpenAI(model="fake-1", base_url=self.base + "/v1", api_key="sk-test", max_retries=retries,
                          use_responses_api=True)


class Messages(LangChain):
    def model(self, retries):
        return ChatAnthropic(model="fake-1", base_url=self.base, api_key="sk-ant-test", max_retries=retries, max_tokens=1000)


cases.main("langchain_py", {"chat": Chat, "responses": Responses, "messages": Messages})
