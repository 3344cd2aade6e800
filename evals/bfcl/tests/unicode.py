#!/usr/bin/env python3
"""Writes the rows of evals/bfcl/unicode.c, from the tables of the Python that runs it: unicode.py lower|compose

Unicode 14 (Python 3.11) is what the official BFCL checker was run with."""
import sys
import unicodedata


def lower_runs():
    pairs = [(c, ord(chr(c).lower()) - c) for c in range(0x80, 0x110000)
             if not 0xD800 <= c < 0xE000 and len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)]
    runs, i = [], 0
    while i < len(pairs):
        first, by = pairs[i]
        step, n = 1, 1
        for stride in (1, 2):
            k = 1
            while i + k < len(pairs) and pairs[i + k] == (first + stride * k, by):
                k += 1
            if k > n:
                step, n = stride, k
        runs.append(f"{{0x{first:X}, 0x{first + step * (n - 1):X}, {step}, {by}}},")
        i += n
    return runs, 3


def compositions():
    found = []
    for c in range(0x110000):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and not 0xAC00 <= c < 0xD7A4:
            base, mark = (int(p, 16) for p in parts)
            if unicodedata.normalize("NFC", chr(base) + chr(mark)) == chr(c):
                found.append((base, mark, c))
    return [f"{{0x{b:X}, 0x{m:X}, 0x{c:X}}}," for b, m, c in sorted(found)], 4


rows, across = lower_runs() if sys.argv[1:] == ["lower"] else compositions()
for i in range(0, len(rows), across):
    print("    " + " ".join(rows[i:i + across]))
