"""The tasks that every Python client does: a program gives its ways to ask, and prints one JSON line a task."""
import concurrent.futures
import hashlib
import json
import os
import sys

WEATHER = {"Paris": "21 degrees in Paris", "Oslo": "4 degrees in Oslo"}


def get_weather(city):
    return WEATHER.get(city, "unknown")


def subtract(a, b):
    return str(a - b)


def run_tool(name, arguments):
    return {"get_weather": get_weather, "subtract": subtract}[name](**arguments)


SCHEMAS = [
    ("get_weather", "The weather of a city.",
     {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}),
    ("subtract", "a less b.",
     {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"],
      "additionalProperties": False}),
]
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
        "required": ["city", "population"], "additionalProperties": False}


class Partial(Exception):
    """What came of a text before the error."""

    def __init__(self, text, cause):
        super().__init__(str(cause))
        self.text = text
        self.cause = cause


def name_of(error):
    return type(error).__name__


def raised(ask):
    try:
        ask()
    except Partial as e:
        return {"text": e.text, "error": name_of(e.cause)}
    except Exception as e:  # noqa: BLE001: the class is what is looked at
        return {"error": name_of(e)}
    return {"error": None}


def long_stream(client):
    text = client.ask("Tell me a long story.", stream=True)
    return {"bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}


CASES = {
    "tools": lambda c: c.loop("What is the weather in Paris?", stream=False),
    "tools_streamed": lambda c: c.loop("What is the weather in Paris?", stream=True),
    "parallel": lambda c: c.loop("Compare the weather of Paris and Oslo.", stream=False),
    "parallel_streamed": lambda c: c.loop("Compare the weather of Paris and Oslo.", stream=True),
    "structured": lambda c: c.structured("What do you know about Paris?"),
    "rate_limit": lambda c: {"text": c.ask("Are you there?", stream=False)},
    "unauthorized": lambda c: raised(lambda: c.ask("Who am I?", stream=False)),
    "cut": lambda c: raised(lambda: c.ask("Tell me a story.", stream=True)),
    "long": long_stream,
    "agent": lambda c: c.loop("By how much is Paris warmer than Oslo?", stream=False),
    "status_400": lambda c: raised(lambda: c.ask("Hello.", stream=False, retries=0)),
    "status_403": lambda c: raised(lambda: c.ask("Hello.", stream=False, retries=0)),
    "status_404": lambda c: raised(lambda: c.ask("Hello.", stream=False, retries=0)),
    "status_429": lambda c: raised(lambda: c.ask("Hello.", stream=False, retries=0)),
    "status_500": lambda c: raised(lambda: c.ask("Hello.", stream=True, retries=0)),
    "status_529": lambda c: raised(lambda: c.ask("Hello.", stream=False, retries=0)),
}


TIMEOUT_S = float(os.environ.get("TIMEOUT_S", "600"))  # of a request


def outcome(ask):
    """What a client makes of a spoiled answer, as a text."""
    try:
        text, error = ask(), None
    except Partial as e:
        text, error = e.text, name_of(e.cause)
    except Exception as e:  # noqa: BLE001: the class is what is looked at
        text, error = "", name_of(e)
    whole = text == os.environ["TEXT"]
    if error:
        return f"{error} after text" if text else error
    return "the reply" if whole else "a part of the reply" if text and os.environ["TEXT"].startswith(text) else "no text"


def spoiled(root, name, formats, faults):
    """Each fault, whole and streamed, all at once: the waits are the clients' timeouts."""
    def one(key):
        fmt, fault, stream = key
        client = formats[fmt](f"{root}/s/{fault}-{'streamed' if stream else 'whole'}~{name}.{fmt}")
        return outcome(lambda: client.ask("Hello.", stream=stream, retries=0))

    keys = [(fmt, fault, stream) for fmt in formats for fault in faults for stream in (False, True)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for (fmt, fault, stream), got in zip(keys, pool.map(one, keys)):
            print(json.dumps({"client": name, "format": fmt, "fault": fault, "streamed": stream, "got": got}), flush=True)


def main(name, formats):
    """formats: name -> a function that makes the client for a base URL without /v1. Where SESSIONS is set, each task has a
    session of its own, else all are one conversation with the server. TASKS and FORMATS choose some. With FAULTS, spoiled
    answers are asked for instead."""
    root = os.environ["ASSAY_BASE_URL"]
    if "FAULTS" in os.environ:
        spoiled(root, name, formats, os.environ["FAULTS"].split())
        return
    tasks = os.environ.get("TASKS", "").split() or list(CASES)
    chosen = os.environ.get("FORMATS", "").split() or list(formats)
    for fmt in formats:
        for task in CASES:
            if fmt not in chosen or task not in tasks:
                continue
            base = f"{root}/s/{task}~{name}.{fmt}" if "SESSIONS" in os.environ else root
            try:
                got = CASES[task](formats[fmt](base))
            except Exception as e:  # noqa: BLE001: told like any other result
                got = {"unexpected": f"{name_of(e)}: {e}"[:400]}
            print(json.dumps({"client": name, "format": fmt, "case": task, "got": got}, sort_keys=True), flush=True)
    sys.stdout.flush()
