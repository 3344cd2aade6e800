"""How long the official checker of BFCL takes for a result: its line read, its calls decoded, its verdict.

Usage: peer_bfcl.py QUESTIONS ANSWERS|- RESULTS CATEGORY calls|text ROUNDS

Prints a JSON object: "us" of CPU a result (the fastest round), and how many of the results are "correct". calls: as models have
them whose API takes no dots in names. What the package imports besides, and does not need for this, is left out.
"""
import json
import sys
import time
import types
from unittest import mock

for missing in ("filelock", "tenacity", "tree_sitter", "tree_sitter_java", "tree_sitter_javascript"):
    sys.modules[missing] = mock.MagicMock()
models = types.ModuleType("bfcl_eval.constants.model_config")  # it imports the client of every provider
models.MODEL_CONFIG_MAPPING = {"calls": types.SimpleNamespace(underscore_to_dot=True),
                               "text": types.SimpleNamespace(underscore_to_dot=False)}
sys.modules[models.__name__] = models

from bfcl_eval.constants.enums import Language, ReturnFormat
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
from bfcl_eval.model_handler.utils import default_decode_ast_prompting
from bfcl_eval.utils import is_empty_output, is_function_calling_format_output


def decoded(result, output):
    """As the handlers of its models do: OpenAI's for calls, the default one for texts."""
    if output == "text":
        return default_decode_ast_prompting(result, ReturnFormat.PYTHON)
    return [{name: json.loads(call[name]) for name in list(call)[:1]} for call in result]


def is_valid(result, output, category, question, answer):
    """As eval_runner does."""
    try:
        calls = decoded(result, output)
    except Exception:  # of any kind: it cannot be decoded
        return category == "irrelevance"
    if category == "irrelevance":
        return is_empty_output(calls)
    if not is_function_calling_format_output(calls):
        return False
    return ast_checker(question, calls, answer, Language.PYTHON, category, output)["valid"]


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [line for line in f if line.strip()]


def main():
    questions, answers, results, category, output, rounds = sys.argv[1:]
    functions = {q["id"]: q["function"] for q in map(json.loads, lines_of(questions))}
    truth = {} if answers == "-" else {a["id"]: a["ground_truth"] for a in map(json.loads, lines_of(answers))}
    lines = lines_of(results)
    best, correct = float("inf"), 0
    for _ in range(int(rounds)):
        start, correct = time.process_time(), 0
        for line in lines:
            entry = json.loads(line)
            correct += is_valid(entry["result"], output, category, functions[entry["id"]], truth.get(entry["id"]))
        best = min(best, time.process_time() - start)
    print(json.dumps({"us": best * 1e6 / len(lines), "correct": correct}))


main()
