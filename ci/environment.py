"""Python environments with packages of other projects, made from the package registry once: build/peers/NAME."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python_of(name, packages):
    """The path of a Python that has the packages ("vcrpy==9.4.2"), and why there is none."""
    home = os.path.join(TOP, "build/peers", name)
    python, ready = os.path.join(home, "bin/python"), os.path.join(home, "ready")
    if os.path.exists(ready):
        return python, ""
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", home], capture_output=True, text=True)
    if made.returncode != 0:
        return None, "python3 makes no environments (apt-get install python3-venv)"
    pip = [python, "-m", "pip", "install", "-q", "--retries", "5", "--timeout", "20", "--disable-pip-version-check"]
    done = subprocess.run(pip + packages, capture_output=True, text=True)
    if done.returncode != 0:
        return None, f"{' '.join(packages)} is not to be had: {done.stderr.strip().splitlines()[-1:]}"
    with open(ready, "w", encoding="utf-8"):
        pass
    return python, ""
