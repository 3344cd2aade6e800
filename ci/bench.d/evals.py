"""What ci/bench measures of evaluations beside their goals: the CPU of a replayed task, memory by the size of the set,
scoring a run anew, and verdicts of BFCL. Sets and recordings are written here: a task asks for a call of one tool, gets
its result, and answers; the calls and the answer are checked."""
import json
import os
import shutil

TASKS = (1000, 10000)
MANY = 100000
BFCL = ("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance")
BFCL_REPEATS = 10
NAME, ARGUMENTS, RESULT, ANSWER = "get_order_status", '{"order_id":"123"}', '{"status":"shipped"}', "It has been shipped."
PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "string", "description": "The number of the order."}},
              "required": ["order_id"], "additionalProperties": False}
DESCRIPTION = "Look up an order by its number."
TASK = """- id: t{n:06}
  prompt: "{prompt}"
  expect:
    calls:
      mode: exact
      list:
      - get_order_status: {{order_id: "123"}}
    answer: {{contains: shipped}}
"""


def prompt(n):
    return f"Question {n}: where is order 123?"


def reply(message, finish):
    return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "fake-1",
                       "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                       "usage": {"prompt_tokens": 80, "completion_tokens": 19, "total_tokens": 99}})


def interaction(method, uri, request, response, timing):
    return (f"- request:\n    method: {method}\n    uri: '{uri}'\n    headers: {{}}\n    body: '{request}'\n"
            f"  response:\n    status: {{code: 200, message: OK}}\n    headers: {{Content-Type: [application/json]}}\n"
            f"    body: {{string: '{response}'}}\n    assay: {timing}\n")


def recording():
    """A cassette's text, with @PROMPT@ in the place of the task's prompt."""
    tool = {"type": "function", "function": {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS}}
    call = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": ARGUMENTS}}]}
    asked = [{"role": "user", "content": "@PROMPT@"}]
    told = asked + [call, {"role": "tool", "tool_call_id": "c1", "content": RESULT}]
    url = "http://h/v1/chat/completions"
    bodies = [json.dumps({"model": "fake-1", "messages": m, "tools": [tool]}) for m in (asked, told)]
    return ('version: 1\nassay: {format: 1, encoder: 1, run: 4a57a52850db, seed: 7, started_at: "2026-11-29T20:26:18.413Z"}\n'
            "interactions:\n"
            + interaction("POST", url, bodies[0], reply(call, "tool_calls"), "{at_ms: 0, took_ms: 300, ended: clean}")
            + interaction("CALL", f"tool:{NAME}", ARGUMENTS, RESULT, "{at_ms: 300, took_ms: 0, call_id: c1}")
            + interaction("POST", url, bodies[1], reply({"role": "assistant", "content": ANSWER}, "stop"),
                          "{at_ms: 300, took_ms: 300, ended: clean}"))


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def make_set(folder, tasks, recorded=True):
    """A set with its tools, a script for all of its tasks, and their recordings."""
    os.makedirs(os.path.join(folder, "cassettes"))
    write(folder, "tools.yaml", f"version: 1\ntools:\n- name: {NAME}\n  description: {DESCRIPTION}\n"
          f"  parameters: {json.dumps(PARAMETERS)}\n  tier: read\n  answers:\n  - result: {RESULT}\n")
    write(folder, "s.script.yaml", f"version: 1\nmodel: fake-1\nseed: 7\nsteps:\n- reply: {{calls: [{{id: c1, name: {NAME}, "
          f"arguments: {ARGUMENTS}}}], usage: {{input: 80, output: 19}}}}\n"
          f"- reply: {{text: {ANSWER}, usage: {{input: 99, output: 12}}}}\n")
    write(folder, "set.yaml", "version: 1\nname: bench\ndefaults: {tools: tools.yaml}\ntasks:\n"
          + "".join(TASK.format(n=n, prompt=prompt(n)) for n in range(tasks)))
    text = recording()
    for n in range(tasks if recorded else 0):
        write(folder, f"cassettes/t{n:06}.yaml", text.replace("@PROMPT@", prompt(n)))


class Sets:
    """Sets by their size, each made once; commands that run them."""

    def __init__(self, assay, scratch):
        self.assay, self.scratch, self.out = assay, scratch, os.path.join(scratch, "run")

    def path(self, tasks, recorded=True):
        folder = os.path.join(self.scratch, f"set{tasks}")
        if not os.path.isdir(folder):
            make_set(folder, tasks, recorded)
        return folder

    def replay(self, tasks, *words):
        folder = self.path(tasks)
        return [self.assay, "eval", os.path.join(folder, "set.yaml"), "--replay", os.path.join(folder, "cassettes"), "--out",
                self.out, *words]

    def fake(self, tasks):
        folder = self.path(tasks, recorded=False)
        return [self.assay, "eval", os.path.join(folder, "set.yaml"), "--fake", "--script",
                os.path.join(folder, "s.script.yaml"), "--out", self.out]

    def clear(self):
        shutil.rmtree(self.out, ignore_errors=True)


def replayed(row, in_turn, sets, rounds):
    """Everything that the run does, less what a run of one task does, which is the start."""
    one = in_turn({"one": sets.replay(1)}, rounds, before=sets.clear)["one"]
    row("eval --replay of one task: wall", one.wall, "its CPU", one.cpu, "ms")
    row("eval --replay of one task: CPU", one.cpu, "goal", 25, "ms")
    for tasks in TASKS:
        for jobs in (1, 16):
            times = max(3, rounds * 1000 // tasks)
            many = in_turn({"many": sets.replay(tasks, "--jobs", str(jobs))}, times, before=sets.clear)["many"]
            row(f"a task of {tasks:,}, --jobs {jobs}: CPU", (many.cpu - one.cpu) * 1000 / (tasks - 1), "goal", 100, "us")


def sizes(row, once, sets):
    """Memory by the number of tasks, and scoring the largest run anew."""
    for tasks in (*TASKS, MANY):
        sets.clear()
        run = once(sets.fake(tasks))
        row(f"eval --fake of {tasks:,} tasks: memory", run.memory, "goal", 50, "MiB")
        row(f"eval --fake of {tasks:,} tasks: a task, CPU", run.cpu * 1000 / tasks, "replayed: goal", 100, "us")
    again = once([sets.assay, "score", sets.out])
    row(f"score of {MANY:,} trials: CPU", again.cpu / 1000, "goal", 2, "s")
    row(f"score of {MANY:,} trials: memory", again.memory, "goal", 50, "MiB")
    sets.clear()


# ---- BFCL ----

def json_lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def numbered(rows):
    """A line each, with an id of its own: a result that stands twice is refused."""
    return "".join(json.dumps({**row, "id": f"{row['id']}#{i}"}) + "\n" for i, row in enumerate(rows))


def bfcl_results(corpus, scratch, category, output):
    """The results of all models with that kind of output several times, each with a question and an answer of its own,
    and the first of them alone; how many they are (of calls: the models for which dots became underscores)."""
    with open(os.path.join(corpus, "bfcl/models.json"), encoding="utf-8") as f:
        models = json.load(f)
    calls = output == "calls"
    names = sorted(m for m, about in models.items()
                   if (about["output"] == "function_calls") == calls and about["underscore_to_dot"] == calls)
    results = [row for name in names
               for row in json_lines(os.path.join(corpus, "bfcl/results", name, category + ".jsonl"))] * BFCL_REPEATS
    write(scratch, "once.jsonl", numbered(results[:1]))
    write(scratch, "often.jsonl", numbered(results))
    for kind in ("questions", "answers"):
        if kind == "questions" or category != "irrelevance":
            of = {row["id"]: row for row in json_lines(os.path.join(corpus, "bfcl", kind, category + ".jsonl"))}
            write(scratch, kind + ".jsonl", numbered(of[row["id"]] for row in results))
    return len(results)


def bfcl_command(assay, scratch, category, output, results):
    answers = [] if category == "irrelevance" else ["--answers", os.path.join(scratch, "answers.jsonl")]
    return [assay, "score", "bfcl", "--questions", os.path.join(scratch, "questions.jsonl"), *answers,
            "--results", os.path.join(scratch, results), "--category", category, "--output", output,
            *(["--underscore-to-dot"] if output == "calls" else [])]


def bfcl_entry(in_turn, assay, corpus, scratch, category, output, rounds):
    """Microseconds of CPU for one more result: its line read, its calls decoded, its verdicts."""
    n = bfcl_results(corpus, scratch, category, output)
    best = in_turn({r: bfcl_command(assay, scratch, category, output, r + ".jsonl") for r in ("once", "often")}, rounds)
    return n, (best["often"].cpu - best["once"].cpu) * 1000 / (n - 1)


def bfcl(row, in_turn, assay, corpus, scratch, rounds):
    if not os.path.isdir(os.path.join(corpus, "bfcl")):
        print("score bfcl: not measured, there is no corpus")
        return
    for category in BFCL:
        for output in ("calls", "text"):
            n, took_us = bfcl_entry(in_turn, assay, corpus, scratch, category, output, rounds)
            row(f"score bfcl {category}, {output}: an entry", took_us, "goal", 5, "us")
