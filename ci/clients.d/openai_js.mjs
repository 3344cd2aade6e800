// The official OpenAI SDK for Node: Chat Completions (with its own tool runner) and Responses.
import OpenAI from 'openai';
import { CITY, Partial, SCHEMAS, TIMEOUT_MS, main, runTool } from './cases.mjs';

function client(base, maxRetries = 2) {
  return new OpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-test', maxRetries, timeout: TIMEOUT_MS });
}

function chat(base) {
  const model = 'fake-1';
  return {
    async loop(prompt, stream) {
      const calls = [];
      const tools = SCHEMAS.map(([name, description, parameters]) => ({
        type: 'function',
        function: { name, description, parameters, strict: true, parse: JSON.parse,
          function: (args) => { calls.push([name, args]); return runTool(name, args); } },
      }));
      const runner = client(base).chat.completions.runTools({ model, tools, messages: [{ role: 'user', content: prompt }],
        ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}) });
      const text = await runner.finalContent();
      const used = await runner.totalUsage();
      return { calls, text, usage: [used.prompt_tokens, used.completion_tokens] };
    },
    async structured(prompt) {
      const done = await client(base).chat.completions.parse({ model, messages: [{ role: 'user', content: prompt }],
        response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: CITY } } });
      return JSON.parse(done.choices[0].message.content);
    },
    async ask(prompt, stream, retries = 2) {
      const messages = [{ role: 'user', content: prompt }];
      if (!stream) {
        return (await client(base, retries).chat.completions.create({ model, messages })).choices[0].message.content;
      }
      let text = '';
      try {
        for await (const chunk of await client(base, retries).chat.completions.create({ model, messages, stream })) {
          text += chunk.choices[0]?.delta?.content ?? '';
        }
      } catch (e) {
        throw new Partial(text, e);
      }
      return text;
    },
  };
}

function responses(base) {
  const model = 'fake-1';
  const tools = SCHEMAS.map(([name, description, parameters]) => ({ type: 'function', name, description, parameters, strict: true }));
  return {
    async loop(prompt, stream) {
      const calls = [];
      const usage = [0, 0];
      const input = [{ role: 'user', content: prompt }];
      for (;;) {
        const body = { model, input, tools, store: false };
        const done = stream ? await client(base).responses.stream(body).finalResponse() : await client(base).responses.create(body);
        usage[0] += done.usage.input_tokens;
        usage[1] += done.usage.output_tokens;
        const asked = done.output.filter((i) => i.type === 'function_call');
        if (asked.length === 0) {
          return { calls, text: done.output_text, usage };
        }
        input.push(...done.output.map(({ parsed_arguments: _, ...item }) => item));
        for (const c of asked) {
          const args = JSON.parse(c.arguments);
          calls.push([c.name, args]);
          input.push({ type: 'function_call_output', call_id: c.call_id, output: runTool(c.name, args) });
        }
      }
    },
    async structured(prompt) {
      const format = { type: 'json_schema', name: 'city', strict: true, schema: CITY };
      return JSON.parse((await client(base).responses.create({ model, input: prompt, text: { format } })).output_text);
    },
    async ask(prompt, stream, retries = 2) {
      if (!stream) {
        return (await client(base, retries).responses.create({ model, input: prompt })).output_text;
      }
      let text = '';
      try {
        for await (const event of await client(base, retries).responses.create({ model, input: prompt, stream })) {
          text += event.type === 'response.output_text.delta' ? event.delta : '';
        }
      } catch (e) {
        throw new Partial(text, e);
      }
      return text;
    },
  };
}

await main('openai_js', { chat, responses });
