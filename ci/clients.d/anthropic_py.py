"""The official Anthropic SDK for Python: Messages."""
import json

import anthropic
import cases


def tools():
    return [{"name": n, "description": d, "input_schema": p} for n, d, p in cases.SCHEMAS]


class Messages:
    def __init__(self, base):
        self.base = base

    def client(self, retries=2):
        return anthropic.Anthropic(base_url=self.base, api_key="sk-ant-test", max_retries=retries, timeout=cases.TIMEOUT_S)

    def one(self, client, messages, stream):
        if not stream:
            return client.messages.create(model="fake-1", max_tokens=1000, messages=messages, tools=tools())
        with client.messages.stream(model="fake-1", max_tokens=1000, messages=messages, tools=tools()) as s:
            return s.get_final_message()

    def loop(self, prompt, stream):
        client, calls, usage = self.client(), [], [0, 0]
        messages = [{"role": "user", "content": prompt}]
        while True:
            done = self.one(client, messages, stream)
            usage = [usage[0] + done.usage.input_tokens, usage[1] + done.usage.output_tokens]
            asked = [b for b in done.content if b.type == "tool_use"]
            if not asked:
                return {"calls": calls, "text": "".join(b.text for b in done.content if b.type == "text"), "usage": usage}
            messages.append({"role": "assistant", "content": done.content})
            results = []
            for b in asked:
                calls.append([b.name, b.input])
                results.append({"type": "tool_result", "tool_use_id": b.id, "content": cases.run_tool(b.name, b.input)})
            messages.append({"role": "user", "content": results})

    def structured(self, prompt):
        done = self.client().messages.create(model="fake-1", max_tokens=1000, messages=[{"role": "user", "content": prompt}],
                                             output_config={"format": {"type": "json_schema", "schema": cases.CITY}})
        return json.loads(done.content[0].text)

    def ask(self, prompt, stream, retries=2):
        client, text = self.client(retries), ""
        messages = [{"role": "user", "content": prompt}]
        if not stream:
            return client.messages.create(model="fake-1", max_tokens=1000, messages=messages).content[0].text
        try:
            with client.messages.stream(model="fake-1", max_tokens=1000, messages=messages) as s:
                for piece in s.text_stream:
                    text += piece
        except Exception as e:
            raise cases.Partial(text, e) from e
        return text


cases.main("anthropic_py", {"messages": Messages})
