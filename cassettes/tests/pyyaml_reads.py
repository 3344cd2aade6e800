"""Loads a cassette as vcrpy does (PyYAML) and compares each interaction's bodies with "hex hex" lines."""
import sys

import yaml


def body(value):
    """vcrpy's compat.convert_to_bytes: text is UTF-8."""
    return value if isinstance(value, bytes) else value.encode("utf-8")


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        text = f.read()
    want = open(sys.argv[2]).read().splitlines()
    loaders = [yaml.SafeLoader] + ([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])
    for loader in loaders:
        root = yaml.load(text, Loader=loader)
        assert root["version"] == 1 and isinstance(root["assay"]["run"], str)
        items = root["interactions"]
        assert len(items) == len(want), (len(items), len(want))
        for i, item in enumerate(items):
            request, response = item["request"], item["response"]
            assert set(request) == {"method", "uri", "body", "headers"}, request.keys()
            assert isinstance(request["uri"], str) and isinstance(request["method"], str)
            assert isinstance(response["status"]["code"], int)
            got = f"{body(request['body']).hex()} {body(response['body']['string']).hex()}"
            assert got == want[i], (loader, i, got, want[i])


main()
