// A small agent with OpenAI's SDK for Node: it answers the question on its standard input with one tool. The provider keeps the
// conversation (previous_response_id). It knows nothing of assay: the SDK asks wherever OPENAI_BASE_URL says.
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';

const tools = [{
  type: 'function', name: 'subtract', description: 'a - b', strict: false,
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
}];
const client = new OpenAI();
let input = readFileSync(0, 'utf8');
let previous;
for (let step = 0; step < 8; step++) {
  const reply = await client.responses.create({ model: 'fake-1', input, tools, previous_response_id: previous });
  const calls = reply.output.filter((item) => item.type === 'function_call');
  if (calls.length === 0) {
    console.log(reply.output_text);
    process.exit(0);
  }
  previous = reply.id;
  input = calls.map((call) => {
    const { a, b } = JSON.parse(call.arguments);
    return { type: 'function_call_output', call_id: call.call_id, output: (a - b).toFixed(1) };
  });
}
process.exit(1);
