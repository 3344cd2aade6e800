"""How long vcrpy and cassetter take to load each cassette: a JSON object of path to the faster one's name and seconds.

Usage: load_peers.py LIST ROUNDS     LIST: a JSON list of paths. What neither of them loads is left out.
"""
import json
import sys
import time

from cassetter._core import Cassette
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer


def vcrpy(path):
    with open(path, encoding="utf-8") as f:
        deserialize(f.read(), yamlserializer)


def best(load, path, rounds):
    """The fastest of the rounds in seconds, or None for a file that cannot be loaded."""
    fastest = None
    for _ in range(rounds):
        start = time.perf_counter()
        try:
            load(path)
        except Exception:  # of any kind: it is not a cassette to them
            return None
        took = time.perf_counter() - start
        fastest = took if fastest is None or took < fastest else fastest
    return fastest


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        paths = json.load(f)
    found = {}
    for path in paths:
        times = {name: best(load, path, int(sys.argv[2])) for name, load in (("vcrpy", vcrpy), ("cassetter", Cassette.load))}
        times = {name: took for name, took in times.items() if took is not None}
        if times:
            found[path] = min(times.items(), key=lambda item: item[1])
    print(json.dumps(found))


main()
