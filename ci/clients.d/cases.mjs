// The tasks that every Node client does; see cases.py.
import { createHash } from 'node:crypto';

const WEATHER = { Paris: '21 degrees in Paris', Oslo: '4 degrees in Oslo' };

export function runTool(name, args) {
  return name === 'get_weather' ? (WEATHER[args.city] ?? 'unknown') : String(args.a - args.b);
}

export const SCHEMAS = [
  ['get_weather', 'The weather of a city.',
    { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }],
  ['subtract', 'a less b.',
    { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'],
      additionalProperties: false }],
];
export const CITY = { type: 'object', properties: { city: { type: 'string' }, population: { type: 'integer' } },
  required: ['city', 'population'], additionalProperties: false };

// What came of a text before the error.
export class Partial extends Error {
  constructor(text, cause) {
    super(String(cause));
    this.text = text;
    this.cause = cause;
  }
}

function nameOf(error) {
  const name = error?.constructor?.name ?? typeof error;
  if (error?.statusCode !== undefined) {
    return `${name} ${error.statusCode}`; // one class for all
  }
  return name === 'Error' || name === 'TypeError' ? `${name}: ${error.message}` : name;
}

async function raised(ask) {
  try {
    await ask();
  } catch (e) {
    return e instanceof Partial ? { text: e.text, error: nameOf(e.cause) } : { error: nameOf(e) };
  }
  return { error: null };
}

async function longStream(client) {
  const text = await client.ask('Tell me a long story.', true);
  return { bytes: text.length, sha256: createHash('sha256').update(text).digest('hex').slice(0, 16) };
}

const status = (stream) => (c) => raised(() => c.ask('Hello.', stream, 0));
const CASES = {
  tools: (c) => c.loop('What is the weather in Paris?', false),
  tools_streamed: (c) => c.loop('What is the weather in Paris?', true),
  parallel: (c) => c.loop('Compare the weather of Paris and Oslo.', false),
  parallel_streamed: (c) => c.loop('Compare the weather of Paris and Oslo.', true),
  structured: (c) => c.structured('What do you know about Paris?'),
  rate_limit: async (c) => ({ text: await c.ask('Are you there?', false) }),
  unauthorized: (c) => raised(() => c.ask('Who am I?', false)),
  cut: (c) => raised(() => c.ask('Tell me a story.', true)),
  long: longStream,
  agent: (c) => c.loop('By how much is Paris warmer than Oslo?', false),
  status_400: status(false),
  status_403: status(false),
  status_404: status(false),
  status_429: status(false),
  status_500: status(true),
  status_529: status(false),
};

const words = (text) => (text ?? '').split(' ').filter((w) => w !== '');

function sorted(value) {
  if (Array.isArray(value) || value === null || typeof value !== 'object') {
    return Array.isArray(value) ? value.map(sorted) : value;
  }
  return Object.fromEntries(Object.keys(value).sort().map((k) => [k, sorted(value[k])]));
}

export const TIMEOUT_MS = 1000 * Number(process.env.TIMEOUT_S ?? 600); // of a request

// What a client makes of a spoiled answer, as a text.
async function outcome(ask) {
  const whole = process.env.TEXT;
  let text = '';
  let error = null;
  try {
    text = (await ask()) ?? '';
  } catch (e) {
    text = e instanceof Partial ? e.text : '';
    error = nameOf(e instanceof Partial ? e.cause : e).replace(/^(\w+): (?!terminated).*/s, '$1');
  }
  if (error !== null) {
    return text === '' ? error : `${error} after text`;
  }
  return text === whole ? 'the reply' : text !== '' && whole.startsWith(text) ? 'a part of the reply' : 'no text';
}

// A client whose timeout ends with the headers waits for ever.
function hung() {
  return new Promise((done) => { setTimeout(() => done('hangs'), 2 * TIMEOUT_MS); });
}

// Each fault, whole and streamed, all at once: the waits are the clients' timeouts.
async function spoiled(root, name, formats, faults) {
  const keys = Object.keys(formats).flatMap((format) => faults.flatMap((fault) => [false, true].map((s) => [format, fault, s])));
  const got = await Promise.all(keys.map(([format, fault, streamed]) => {
    const client = formats[format](`${root}/s/${fault}-${streamed ? 'streamed' : 'whole'}~${name}.${format}`);
    return Promise.race([outcome(() => client.ask('Hello.', streamed, 0)), hung()]);
  }));
  keys.forEach(([format, fault, streamed], i) => console.log(JSON.stringify({ client: name, format, fault, streamed, got: got[i] })));
}

// formats: name -> a function that makes the client for a base URL without /v1.
export async function main(name, formats) {
  const root = process.env.ASSAY_BASE_URL;
  if (process.env.FAULTS !== undefined) {
    await spoiled(root, name, formats, words(process.env.FAULTS));
    process.exit(0); // also where something hangs
  }
  const tasks = words(process.env.TASKS);
  const chosen = words(process.env.FORMATS);
  for (const format of Object.keys(formats)) {
    for (const task of Object.keys(CASES)) {
      if ((chosen.length > 0 && !chosen.includes(format)) || (tasks.length > 0 && !tasks.includes(task))) {
        continue;
      }
      const base = process.env.SESSIONS === undefined ? root : `${root}/s/${task}~${name}.${format}`;
      let got;
      try {
        got = await CASES[task](formats[format](base));
      } catch (e) {
        got = { unexpected: `${nameOf(e)}: ${e?.message}`.slice(0, 400) };
      }
      console.log(JSON.stringify(sorted({ client: name, format, case: task, got })));
    }
  }
}
