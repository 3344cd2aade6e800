// The Vercel AI SDK: its OpenAI provider over Chat Completions and Responses, its Anthropic provider over Messages.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Output, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { CITY, Partial, SCHEMAS, main, runTool } from './cases.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

function clientOf(model, providerOptions) {
  async function drain(options) {
    const result = streamText({ ...options, onError: () => {} });
    let text = '';
    try {
      for await (const part of result.fullStream) {
        if (part.type === 'text-delta') {
          text += part.text;
        } else if (part.type === 'error') {
          throw part.error;
        }
      }
    } catch (e) {
      throw new Partial(text, e);
    }
    return { text: await result.text, total: await result.totalUsage };
  }
  return {
    async loop(prompt, stream) {
      const calls = [];
      const tools = Object.fromEntries(SCHEMAS.map(([name, description, schema]) => [name, tool({ description,
        inputSchema: jsonSchema(schema), execute: (args) => { calls.push([name, args]); return runTool(name, args); } })]));
      const options = { model, tools, prompt, stopWhen: stepCountIs(8), providerOptions };
      const done = stream ? await drain(options) : await generateText(options);
      const used = stream ? done.total : done.totalUsage;
      return { calls, text: done.text, usage: [used.inputTokens, used.outputTokens] };
    },
    async structured(prompt) {
      return (await generateText({ model, prompt, providerOptions, output: Output.object({ schema: jsonSchema(CITY) }) })).output;
    },
    async ask(prompt, stream, maxRetries = 2) {
      const options = { model, prompt, maxRetries, providerOptions };
      return (stream ? await drain(options) : await generateText(options)).text;
    },
  };
}

const openai = (base) => createOpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-test' });
await main('vercel_js', {
  chat: (base) => clientOf(openai(base).chat('fake-1'), {}),
  responses: (base) => clientOf(openai(base).responses('fake-1'), { openai: { store: false } }),
  messages: (base) => clientOf(createAnthropic({ baseURL: `${base}/v1`, apiKey: 'sk-ant-test' })('fake-1'),
    { anthropic: { structuredOutputMode: 'outputFormat' } }),
});
