"""What ci/bench --peers measures: evaluations of equal sets with promptfoo and inspect_ai, and verdicts of BFCL with its
official checker. They come from their registries once, pinned, into build/peers; what cannot be had is left out, and said."""
import json
import os
import platform
import shutil
import subprocess

import environment
import evals

PROMPTFOO = "promptfoo@0.121.20"  # the newest that runs on Node 20
LIBSQL = "0.5.29"  # its database needs a binary of this version; all that is optional besides is 2 GB
INSPECT = "inspect_ai==0.3.285"
CHECKER = "bfcl-eval==2026.3.23"
TRIES = 3
SIZES = (1, 1000, 10000)
ROUNDS = {1: 3, 1000: 2, 10000: 1}
LONGEST_S = 300  # a run that would take longer is left out

QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
         "PROMPTFOO_DISABLE_DEBUG_LOG": "1", "PROMPTFOO_DISABLE_ERROR_LOG": "1"}
CHECK = ("JSON.parse(output).length === 1 && JSON.parse(output)[0].function.name === 'get_order_status' && "
         "JSON.parse(JSON.parse(output)[0].function.arguments).order_id === '123'")


def promptfoo_program(build):
    """The path of promptfoo, or None and why there is none."""
    home = os.path.join(os.path.dirname(build), "peers/promptfoo")
    program, ready = os.path.join(home, "node_modules/.bin/promptfoo"), os.path.join(home, "ready-" + PROMPTFOO)
    if os.path.exists(ready):
        return program, ""
    if shutil.which("npm") is None:
        return None, "there is no npm"
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    made, why = environment.fetch(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional",
                                   "--omit=peer", "--prefix", home, PROMPTFOO, f"@libsql/linux-{arch}-gnu@{LIBSQL}"], TRIES)
    if not made:
        return None, f"{PROMPTFOO} is not to be had: {why}"
    open(ready, "w", encoding="utf-8").close()
    return program, ""


class Promptfoo:
    """The echo provider gives the prompt, which is the calls, and an assertion looks at them: one turn, no tool is run."""
    name = PROMPTFOO

    def __init__(self, program, scratch):
        self.program, self.home = program, os.path.join(scratch, "promptfoo")
        os.makedirs(self.home)
        os.environ.update(QUIET, PROMPTFOO_CONFIG_DIR=self.home)

    def command(self, tasks):
        call = {"type": "function", "function": {"name": evals.NAME, "arguments": evals.ARGUMENTS}}
        tests = [{"description": f"t{n:06}", "vars": {"call": json.dumps([call]), "n": n},
                  "assert": [{"type": "javascript", "value": CHECK}]} for n in range(tasks)]
        config = os.path.join(self.home, f"{tasks}.json")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"prompts": ["{{call}}"], "providers": ["echo"], "tests": tests}, f)
        return [self.program, "eval", "-c", config, "--no-cache", "--no-write", "--no-table", "--no-progress-bar", "-o",
                os.path.join(self.home, "out.json")]


class Inspect:
    """Its own mock of a model, which calls the tool and then answers; a scorer looks at both."""
    name = INSPECT

    def __init__(self, python, scratch):
        self.python, self.logs = python, os.path.join(scratch, "inspect")

    def command(self, tasks):
        return [self.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_inspect.py"), str(tasks), self.logs]


def side_by_side(row, once, sets, peer):
    """A run of each size, ours beside theirs; times of a task are without the start, which the run of one task is."""
    first, each_ms = None, 0
    for tasks in SIZES:
        if each_ms * tasks > LONGEST_S * 1000:
            print(f"{peer.name}: {tasks:,} tasks not measured, they would take {each_ms * tasks / 1000:.0f} s")
            return
        ours, theirs = [], []
        for _ in range(ROUNDS[tasks]):
            sets.clear()
            ours.append(once(sets.replay(tasks)))
            theirs.append(once(peer.command(tasks)))
        best = [min(runs, key=lambda r: r.cpu) for runs in (ours, theirs)]
        if first is None:
            first = best
            row("one task: wall", best[0].wall, peer.name, best[1].wall, "ms")
            row("one task: CPU", best[0].cpu, peer.name, best[1].cpu, "ms")
        else:
            for what, field in (("wall", 0), ("CPU", 2)):
                each = [(run[field] - one[field]) / (tasks - 1) for run, one in zip(best, first)]
                row(f"a task of {tasks:,}: {what}", each[0], peer.name, each[1], "ms")
            each_ms = (best[1].wall - first[1].wall) / (tasks - 1)
        row(f"{tasks:,} task{'s' if tasks > 1 else ''}: memory", best[0].memory, peer.name, best[1].memory, "MiB")


def checker(row, in_turn, assay, corpus, scratch, python, rounds):
    for category in evals.BFCL:
        for output in ("calls", "text"):
            n, ours = evals.bfcl_entry(in_turn, assay, corpus, scratch, category, output, rounds)
            questions, answers, results = (os.path.join(scratch, f"{name}.jsonl") for name in ("questions", "answers", "often"))
            program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_bfcl.py")
            out = subprocess.run([python, program, questions, "-" if category == "irrelevance" else answers, results,
                                  category, output, str(rounds)], stdout=subprocess.PIPE, text=True, check=True)
            theirs = json.loads(out.stdout)
            said = subprocess.run(evals.bfcl_command(assay, scratch, category, output, "often.jsonl") + ["--json"],
                                  capture_output=True, text=True, check=True)
            correct = json.loads(said.stdout.splitlines()[-1])["correct"]
            if correct != theirs["correct"]:
                raise SystemExit(f"ci/bench: of {n} results of {category} {correct} are correct, by the official checker "
                                 f"{theirs['correct']}")
            row(f"{category}, {output}: an entry ({correct}/{n})", ours, CHECKER, theirs["us"], "us")


def measure(row, once, in_turn, build, assay, corpus, scratch, rounds):
    sets = evals.Sets(assay, scratch)
    program, why = promptfoo_program(build)
    if program is None:
        print(f"promptfoo: not measured, {why}")
    else:
        side_by_side(row, once, sets, Promptfoo(program, scratch))
    python, why = environment.python_of("inspect", [INSPECT], TRIES)
    if python is None:
        print(f"inspect_ai: not measured, {why}")
    else:
        side_by_side(row, once, sets, Inspect(python, scratch))
    python, why = environment.python_of("bfcl", ["--no-deps", CHECKER], TRIES)
    if python is None or not os.path.isdir(os.path.join(corpus, "bfcl")):
        print(f"BFCL's checker: not measured, {why or 'there is no corpus'}")
    else:
        checker(row, in_turn, assay, corpus, scratch, python, rounds)
