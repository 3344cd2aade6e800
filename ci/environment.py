"""Packages of other projects, from the package registries: what asks for them is tried again where they are required, and
Python environments of them are made once, build/peers/NAME."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REQUIRED = os.environ.get("CI") == "true"  # elsewhere what cannot be had is skipped
TRIES = 3 if REQUIRED else 1


def fetch(words, tries=TRIES, **options):
    """Runs what asks a registry; these have bad moments. Returns how it ended, and why it failed in one line."""
    for _ in range(tries):
        done = subprocess.run(words, capture_output=True, text=True, **options)
        if done.returncode == 0:
            return True, ""
    return False, (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]


def python_of(name, packages, tries=TRIES):
    """The path of a Python that has the packages ("vcrpy==9.4.2"), and why there is none."""
    home = os.path.join(TOP, "build/peers", name)
    python, ready = os.path.join(home, "bin/python"), os.path.join(home, "ready")
    if os.path.exists(ready):
        return python, ""
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", home], capture_output=True, text=True)
    if made.returncode != 0:
        return None, "python3 makes no environments (apt-get install python3-venv)"
    pip = [python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20", "--disable-pip-version-check"]
    done, why = fetch(pip + packages, tries)
    if not done:
        return None, f"{' '.join(packages)} is not to be had: {why}"
    with open(ready, "w", encoding="utf-8"):
        pass
    return python, ""
