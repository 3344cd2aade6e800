"""The official OpenAI SDK for Python: Chat Completions and Responses."""
import json

import cases
import openai


class Client:
    def __init__(self, base):
        self.base = base

    def client(self, retries=2):
        return openai.OpenAI(base_url=self.base + "/v1", api_key="sk-test", max_retries=retries, timeout=cases.TIMEOUT_S)


def chat_tools():
    return [{"type": "function", "function": {"name": n, "description": d, "parameters": p, "strict": True}}
            for n, d, p in cases.SCHEMAS]


class Chat(Client):
    def one(self, client, messages, stream):
        if not stream:
            done = client.chat.completions.create(model="fake-1", messages=messages, tools=chat_tools())
            return done.choices[0].message, done.usage
        with client.chat.completions.stream(model="fake-1", messages=messages, tools=chat_tools(),
                                            stream_options={"include_usage": True}) as s:
            for _ in s:
                pass
            done = s.get_final_completion()
        return done.choices[0].message, done.usage

    def loop(self, prompt, stream):
        client, calls, usage = self.client(), [], [0, 0]
        messages = [{"role": "user", "content": prompt}]
        while True:
            message, used = self.one(client, messages, stream)
            usage = [usage[0] + used.prompt_tokens, usage[1] + used.completion_tokens]
            if not message.tool_calls:
                return {"calls": calls, "text": message.content, "usage": usage}
            messages.append({"role": "assistant", "content": message.content, "tool_calls": [
                {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
                for c in message.tool_calls]})
            for c in message.tool_calls:
                arguments = json.loads(c.function.arguments)
                calls.append([c.function.name, arguments])
                messages.append({"role": "tool", "tool_call_id": c.id, "content": cases.run_tool(c.function.name, arguments)})

    def structured(self, prompt):
        form = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": cases.CITY}}
        done = self.client().chat.completions.create(model="fake-1", messages=[{"role": "user", "content": prompt}],
                                                     response_format=form)
        return json.loads(done.choices[0].message.content)

    def ask(self, prompt, stream, retries=2):
        client, text = self.client(retries), ""
        messages = [{"role": "user", "content": prompt}]
        if not stream:
            return client.chat.completions.create(model="fake-1", messages=messages).choices[0].message.content
        try:
            for chunk in client.chat.completions.create(model="fake-1", messages=messages, stream=True):
                text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        except Exception as e:
            raise cases.Partial(text, e) from e
        return text


class Responses(Client):
    def one(self, client, items, stream):
        tools = [{"type": "function", "name": n, "description": d, "parameters": p, "strict": True} for n, d, p in cases.SCHEMAS]
        if not stream:
            return client.responses.create(model="fake-1", input=items, tools=tools, store=False)
        with client.responses.stream(model="fake-1", input=items, tools=tools, store=False) as s:
            for _ in s:
                pass
            return s.get_final_response()

    def loop(self, prompt, stream):
        client, calls, usage = self.client(), [], [0, 0]
        items = [{"role": "user", "content": prompt}]
        while True:
            done = self.one(client, items, stream)
            usage = [usage[0] + done.usage.input_tokens, usage[1] + done.usage.output_tokens]
            asked = [i for i in done.output if i.type == "function_call"]
            if not asked:
                return {"calls": calls, "text": done.output_text, "usage": usage}
            items += [i.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for i in done.output]
            for c in asked:
                arguments = json.loads(c.arguments)
                calls.append([c.name, arguments])
                items.append({"type": "function_call_output", "call_id": c.call_id, "output": cases.run_tool(c.name, arguments)})

    def structured(self, prompt):
        form = {"format": {"type": "json_schema", "name": "city", "strict": True, "schema": cases.CITY}}
        return json.loads(self.client().responses.create(model="fake-1", input=prompt, text=form).output_text)

    def ask(self, prompt, stream, retries=2):
        client, text = self.client(retries), ""
        if not stream:
            return client.responses.create(model="fake-1", input=prompt).output_text
        try:
            for event in client.responses.create(model="fake-1", input=prompt, stream=True):
                text += event.delta if event.type == "response.output_text.delta" else ""
        except Exception as e:
            raise cases.Partial(text, e) from e
        return text


cases.main("openai_py", {"chat": Chat, "responses": Responses})
