"""What ci/bench measures of the model server: requests a second, many streams at once, sessions, and the proxy."""
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

BODY = {"model": "fake-1", "messages": [{"role": "user", "content": "hello"}]}
TEXT = "Hello there, this is a reply of some length, which a stream brings in many pieces."
AIMOCK = "@copilotkit/aimock@1.43.0"
REQUESTS, STREAMS, SESSIONS = 20000, 1000, 5000
LONG = 400 << 20
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


class Server:
    """A server that runs, and the port that it says."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.port = 0
        while self.port == 0:
            line = self.process.stdout.readline()
            said = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            self.port = int(said.group(1)) if said else 0
            if not line:
                raise SystemExit(f"{command[0]} does not say its port")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()

    def cpu_us(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_US

    def memory_kib(self, name="VmRSS"):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            return int(re.search(name + r":\s+(\d+)", f.read()).group(1))


def request(scratch, name, stream, path="/v1/chat/completions"):
    """A file with the bytes of a request."""
    body = json.dumps({**BODY, "stream": True} if stream else BODY)
    out = os.path.join(scratch, name)
    with open(out, "w", encoding="utf-8", newline="") as f:
        f.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer none\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    return out


def load(build, server, connections, requests, file):
    """Requests a second, the CPU of each in us, and p50 and p99 in ms; None where an answer was wrong."""
    before = server.cpu_us()
    out = subprocess.run([os.path.join(build, "ci/bench_serve"), "load", str(server.port), str(connections),
                          str(requests), file], capture_output=True, text=True)
    if out.returncode != 0:
        return None
    n, took_ns, p50, p99, _ = map(int, out.stdout.split())
    return n * 1e9 / took_ns, (server.cpu_us() - before) / n, p50 / 1e6, p99 / 1e6


def script(scratch):
    path = os.path.join(scratch, "s.script.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"version: 1\nrules:\n- reply: {{text: \"{TEXT}\", usage: {{input: 3, output: 2}}, chunk: {{bytes: 20}}}}\n")
    return path


def cassette(scratch, n):
    """A recording that answers the plain request n times."""
    path = os.path.join(scratch, "c.yaml")
    answer = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "fake-1", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}]})
    item = (f"- request:\n    method: POST\n    uri: http://h/v1/chat/completions\n    headers: {{}}\n"
            f"    body: '{json.dumps(BODY)}'\n  response:\n    status: {{code: 200, message: OK}}\n"
            f"    headers: {{Content-Type: [application/json]}}\n    body: {{string: '{answer}'}}\n")
    with open(path, "w", encoding="utf-8") as f:
        f.write("version: 1\ninteractions:\n" + item * n)
    return path


def aimock(build, scratch):
    """The command that serves the same reply, or None and why there is none."""
    home = os.path.join(os.path.dirname(build), "peers/aimock")
    program = os.path.join(home, "node_modules/.bin/llmock")
    if shutil.which("npm") is None:
        return None, "there is no npm"
    if not os.path.exists(program):
        os.makedirs(home, exist_ok=True)
        made = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix",
                               home, AIMOCK], capture_output=True, text=True)
        if made.returncode != 0:
            return None, f"{AIMOCK} is not to be had"
    fixtures = os.path.join(scratch, "fixtures.json")
    with open(fixtures, "w", encoding="utf-8") as f:
        json.dump({"fixtures": [{"match": {"userMessage": "hello"}, "response": {"content": TEXT}}]}, f)
    return [program, "-p", "0", "-f", fixtures, "--log-level", "info"], ""


def side_by_side(row, build, scratch, assay, peer, why):
    """The same requests to both, one server after the other for each figure."""
    files = {kind: request(scratch, kind, kind == "streams") for kind in ("plain", "streams")}
    for kind, file in files.items():
        for connections in (1, 32, 256):
            figures = []
            for command in (assay, peer):
                if command is None:
                    continue
                with Server(command) as server:
                    load(build, server, connections, 1000, file)
                    figures.append(load(build, server, connections, REQUESTS, file))
            if len(figures) < 2 or None in figures:
                print(f"serve {kind}, {connections} connections: {figures} beside aimock: not measured, "
                      f"{why or 'an answer was wrong'}")
                continue
            ours, theirs = figures
            what = f"serve {kind}, {connections} connection{'s' if connections > 1 else ''}"
            row(f"{what}: requests", ours[0] / 1000, AIMOCK, theirs[0] / 1000, "1000/s")
            row(f"{what}: CPU a request", ours[1], AIMOCK, theirs[1], "us")
            row(f"{what}: p50", ours[2], AIMOCK, theirs[2], "ms")
            row(f"{what}: p99", ours[3], AIMOCK, theirs[3], "ms")


def many(row, build, scratch, assay):
    """Streams at once; sessions of their own."""
    with Server(assay) as server:
        one = load(build, server, 1, STREAMS, request(scratch, "streams", True))
        before = server.memory_kib()
        all_ = load(build, server, STREAMS, STREAMS * 5, request(scratch, "streams", True))
        row(f"serve {STREAMS} streams at once: streams", all_[0] / 1000, "one at a time", one[0] / 1000, "1000/s")
        row(f"serve {STREAMS} streams at once: CPU a stream", all_[1], "one at a time", one[1], "us")
        row(f"serve {STREAMS} streams at once: memory each", (server.memory_kib("VmHWM") - before) / STREAMS, "goal", 80,
            "KiB")
    with Server(assay) as server:
        load(build, server, 1, 100, request(scratch, "plain", False))
        before = server.memory_kib()
        load(build, server, 1, SESSIONS, request(scratch, "sessions", False, "/s/@@@@@@/v1/chat/completions"))
        row(f"serve {SESSIONS} sessions: memory each", (server.memory_kib() - before) / SESSIONS, "goal", 8, "KiB")


def replayed(row, build, scratch, assay):
    plain = request(scratch, "plain", False)
    with Server([assay[0], "serve", "--script", script(scratch), "--speed", "none"]) as server:
        fake = load(build, server, 32, REQUESTS, plain)
    with Server([assay[0], "serve", "--replay", cassette(scratch, REQUESTS)]) as server:
        ours = load(build, server, 32, REQUESTS, plain)
    row("serve --replay, 32 connections: requests", ours[0] / 1000, "--script", fake[0] / 1000, "1000/s")
    row("serve --replay, 32 connections: CPU a request", ours[1], "--script", fake[1], "us")


def passed(build, proxied, assay, scratch):
    """p50 and p99 in us of first and of later pieces, from the upstream's write to the client's read."""
    driver = subprocess.Popen([os.path.join(build, "ci/bench_serve"), "pass"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    upstream = driver.stdout.readline().strip()
    if not proxied:
        out, _ = driver.communicate("0\n")
    else:
        folder = os.path.join(scratch, f"recorded{time.monotonic_ns()}")
        with Server([assay, "serve", "--record", folder, "--upstream", f"http://127.0.0.1:{upstream}"]) as server:
            out, _ = driver.communicate(f"{server.port}\n")
    return [int(ns) / 1000 for ns in out.split()]


def proxy(row, build, scratch, assay):
    """What the proxy adds to the time of a piece; the quietest of three rounds counts, side by side."""
    rounds = [(passed(build, True, assay, scratch), passed(build, False, assay, scratch)) for _ in range(3)]
    through, direct = (min(r[i] for r in rounds) for i in (0, 1))
    for i, what in enumerate(("first piece: p50", "first piece: p99", "later piece: p50", "later piece: p99")):
        row(f"proxy, {what}", through[i], "without the proxy", direct[i], "us")
    row("proxy adds to a first piece: p50", through[0] - direct[0], "goal", 1000, "us")


def pour(listener):
    """An upstream that sends one answer of LONG bytes as fast as it is taken."""
    peer, _ = listener.accept()
    piece = b"x" * (1 << 20)
    while b"\r\n\r\n" not in peer.recv(65536):
        pass
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    for _ in range(LONG // len(piece)):
        peer.sendall(piece)
    peer.close()


def long_stream(row, scratch, assay):
    """A client that is slower than its upstream: what is on its way, and what is kept for the recording, is bounded."""
    listener = socket.create_server(("127.0.0.1", 0))
    upstream = threading.Thread(target=pour, args=(listener,), daemon=True)
    upstream.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with Server([assay, "serve", "--record", os.path.join(scratch, "long"), "--upstream", url]) as server:
        before, got = server.memory_kib(), 0
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall(b"GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            while piece := s.recv(1 << 20):
                got += len(piece)
                if got % (16 << 20) < len(piece):
                    time.sleep(0.02)
        peak = server.memory_kib("VmHWM") - before
    upstream.join()
    listener.close()
    if got < LONG:
        raise SystemExit(f"ci/bench: of a stream of {LONG} bytes {got} came through the proxy")
    row(f"proxy, a stream of {LONG >> 20} MB: memory", peak / 1024, "what a recording takes of it", 64, "MiB")


def measure(row, build, scratch, assay):
    command = [assay, "serve", "--script", script(scratch), "--speed", "none"]
    peer, why = aimock(build, scratch)
    side_by_side(row, build, scratch, command, peer, why)
    many(row, build, scratch, command)
    replayed(row, build, scratch, command)
    proxy(row, build, scratch, assay)
    long_stream(row, scratch, assay)
