// The official Anthropic SDK for Node: Messages, with its own tool runner.
import Anthropic from '@anthropic-ai/sdk';
import { CITY, Partial, SCHEMAS, TIMEOUT_MS, main, runTool } from './cases.mjs';

const model = 'fake-1';
const max_tokens = 1000;

function client(base, maxRetries = 2) {
  return new Anthropic({ baseURL: base, apiKey: 'sk-ant-test', maxRetries, timeout: TIMEOUT_MS });
}

function messages(base) {
  return {
    async loop(prompt, stream) {
      const calls = [];
      const usage = [0, 0];
      const tools = SCHEMAS.map(([name, description, input_schema]) => ({ name, description, input_schema, parse: (x) => x,
        run: (args) => { calls.push([name, args]); return runTool(name, args); } }));
      const runner = client(base).beta.messages.toolRunner({ model, max_tokens, tools, stream,
        messages: [{ role: 'user', content: prompt }] });
      let text = '';
      for await (const step of runner) {
        const message = stream ? await step.finalMessage() : step;
        usage[0] += message.usage.input_tokens;
        usage[1] += message.usage.output_tokens;
        text = message.content.filter((b) => b.type === 'text').map((b) => b.text).join('');
      }
      return { calls, text, usage };
    },
    async structured(prompt) {
      const done = await client(base).messages.create({ model, max_tokens, messages: [{ role: 'user', content: prompt }],
        output_config: { format: { type: 'json_schema', schema: CITY } } });
      return JSON.parse(done.content[0].text);
    },
    async ask(prompt, stream, retries = 2) {
      const body = { model, max_tokens, messages: [{ role: 'user', content: prompt }] };
      if (!stream) {
        return (await client(base, retries).messages.create(body)).content[0].text;
      }
      let text = '';
      try {
        for await (const event of client(base, retries).messages.stream(body)) {
          text += event.type === 'content_block_delta' ? event.delta.text : '';
        }
      } catch (e) {
        throw new Partial(text, e);
      }
      return text;
    },
  };
}

await main('anthropic_js', { messages });
