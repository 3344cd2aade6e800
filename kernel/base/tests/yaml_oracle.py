"""Prints each YAML file as PyYAML reads it, as JSON on a line, dates left as text and bytes that are
not UTF-8 shown as U+FFFD each. yaml_test compares the loader with it."""
import base64
import json
import sys

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TextLoader(Loader):
    pass


def binary(_, node):
    text = base64.b64decode(node.value).decode("utf-8", "surrogateescape")
    return text.translate({code: 0xFFFD for code in range(0xDC80, 0xDD00)})


TextLoader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)
TextLoader.add_constructor("tag:yaml.org,2002:binary", binary)

sys.stdout.reconfigure(encoding="utf-8")
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        print(json.dumps(yaml.load(file, TextLoader), ensure_ascii=False))
