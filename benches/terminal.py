#!/usr/bin/env python3
"""Measures the interactive session on a pseudo-terminal: start to first frame, key to frame at rest and while
a model streams, processor time of 20,000 deltas against the headless path, of a slow stream and of no work
at all, and memory after a session of 10 MB.

    python3 benches/terminal.py PROGRAM

Other agents stand beside it in peers_terminal.py.

Where no other word is said, the model is a script whose deltas are all there at once. The stream of 100 deltas a
second comes from a server on loopback. Times include the kernel's terminal and this reader of it. Python 3.11, Linux.
"""
import fcntl
import http.server
import json
import os
import pty
import random
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import threading
import time

DELTAS = 20_000
SESSION_BYTES = 10_000_000
STREAM_S = 20                # how long the slow stream lasts
DELTAS_A_SECOND = 100
IDLE_S = 30


class Session:
    """The program on a terminal of 80 columns and 30 rows, in a home of its own or in `home`."""

    def __init__(self, program, turns=None, arguments=(), home=None, variables=()):
        self.own = None if home else tempfile.TemporaryDirectory()
        self.home = home or self.own.name
        work = os.path.join(self.home, "work")
        os.makedirs(work, exist_ok=True)
        model = []
        if turns is not None:
            script = os.path.join(self.home, "script.json")
            with open(script, "w") as file:
                json.dump({"turns": turns}, file)
            model = ["--model", f"scripted:{script}"]
        self.started = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
            environment = {"HOME": self.home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
                           "TERM": "xterm-256color", **dict(variables)}
            os.execve(program, [program, *model, "--cwd", work, *arguments], environment)
        self.seen = b""

    def read(self):
        read = os.read(self.terminal, 65536)
        self.seen += read
        return len(read)

    def wait_for(self, text, seconds=120):
        """Reads until `text` came and returns how long that took."""
        began = time.monotonic()
        while text not in self.seen:
            if time.monotonic() - began > seconds:
                raise SystemExit(f"no {text!r} in {self.seen[-2000:]!r}")
            if select.select([self.terminal], [], [], 0.5)[0]:
                self.read()
            # What is not looked for any more must not be searched again.
            self.seen = self.seen[-1_000_000:]
        self.seen = self.seen.split(text, 1)[1]
        return time.monotonic() - began

    def press(self, keys):
        os.write(self.terminal, keys)

    def drain(self, seconds):
        """Reads for so long and returns how many bytes came."""
        end, read = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                read += self.read()
        return read

    def processor_s(self):
        """Processor time of the threads that are there."""
        spent = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                spent += int(file.read().split()[0])
        return spent / 1e9

    def memory_mb(self):
        """What it holds now, and the most that it ever held."""
        with open(f"/proc/{self.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return tuple(int(lines[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self):
        _, _, usage = os.wait4(self.pid, 0)
        os.close(self.terminal)
        if self.own:
            self.own.cleanup()
        return usage.ru_utime + usage.ru_stime


# ---------------------------------------------------------------- a slow model

class Stream(http.server.BaseHTTPRequestHandler):
    """A server in the OpenAI dialect that sends deltas at an even pace."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        began = time.monotonic()
        for number in range(STREAM_S * DELTAS_A_SECOND):
            word = "word\n\n" if number % 60 == 59 else "word "
            self.delta({"content": word})
            time.sleep(max(0, began + (number + 1) / DELTAS_A_SECOND - time.monotonic()))
        self.delta({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def delta(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())

    def log_message(self, *_):
        pass


# ---------------------------------------------------------------- figures

def start_ms(program):
    times = []
    for _ in range(20):
        session = Session(program, [])
        session.wait_for(b"\x1b[?2026l")
        times.append((time.monotonic() - session.started) * 1000)
        session.end()
    return statistics.median(times)


def percentile(times, share=0.99):
    return sorted(times)[int(len(times) * share)]


def key_ms(session, keys, pause_s=0.0):
    """From a key to the end of the drawing that shows it, for so many keys."""
    times = []
    for number in range(keys):
        if number % 60 == 0:
            session.press(b"\x15")
            session.drain(0.1)
        time.sleep(random.uniform(0, pause_s))
        session.seen = b""
        began = time.monotonic()
        session.press(b"#")
        session.wait_for(b"#" * (number % 60 + 1))
        session.wait_for(b"\x1b[?2026l")
        times.append((time.monotonic() - began) * 1000)
    session.press(b"\x15")
    return times


def at_rest(program):
    """Key to frame, processor time of the deltas, then of no work, with the bytes drawn meanwhile."""
    session = Session(program, [{"words": DELTAS}])
    session.wait_for(b"Ctrl-D")
    session.drain(0.5)
    keys = key_ms(session, 300)
    before = session.processor_s()
    session.press(b"go\r")
    session.wait_for(b"1 step")
    session.drain(0.5)
    deltas = session.processor_s() - before
    before = session.processor_s()
    drawn = session.drain(IDLE_S)
    idle = session.processor_s() - before
    session.end()
    return percentile(keys), deltas, idle, drawn


def headless_s(program):
    """Processor time of the same answer as the headless path takes, without the start."""
    def run(words):
        session = Session(program, [{"words": words}], ["go"])
        session.wait_for(b"1 step")
        return session.wait()
    runs = [run(DELTAS) - run(1) for _ in range(3)]
    return statistics.median(runs)


def streaming(program):
    """Key to frame and the share of a core while a model streams, and the share without keys."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    variables = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "key"}
    session = Session(program, None, ["--model", "openai/slow"], variables=variables.items())
    session.wait_for(b"Ctrl-D")
    session.drain(0.5)
    session.press(b"go\r")
    session.wait_for(b"word")
    began, before = time.monotonic(), session.processor_s()
    session.drain(STREAM_S / 2)
    share = (session.processor_s() - before) / (time.monotonic() - began)
    keys = key_ms(session, 150, 0.05)
    session.wait_for(b"1 step")
    session.end()
    server.shutdown()
    return percentile(keys), share


def memory_mb(program):
    """Memory after a session of 10 MB was made, after it was resumed, and with all of it in the pager."""
    with tempfile.TemporaryDirectory() as home:
        work = os.path.join(home, "work")
        os.mkdir(work)
        for number in range(20):
            with open(os.path.join(work, f"{number}.txt"), "w") as file:
                file.writelines(f"line {line} of file {number}\n" for line in range(900))
        steps = SESSION_BYTES // 100_000 + 30
        prose = "A sentence of the answer, with `code` and **weight**, as models write them.\n\n" * 900
        turns = [{"text": prose, "calls": [{"name": "read_file", "arguments": {"path": f"{n % 20}.txt"}}]}
                 for n in range(steps)]
        session = Session(program, [*turns, {"text": "The end."}], home=home)
        session.wait_for(b"Ctrl-D")
        session.press(b"go\r")
        session.wait_for(b"The end.", 600)
        session.wait_for(b"steps")
        session.drain(1)
        made = session.memory_mb()
        session.press(b"\x04")
        session.wait_for(b"--resume")
        session.wait()
        logs = os.path.join(home, ".local/state/tenon/sessions")
        size = sum(os.path.getsize(os.path.join(logs, name)) for name in os.listdir(logs))
        session = Session(program, [], ["--continue"], home=home)
        session.wait_for(b"Ctrl-D")
        session.drain(2)
        resumed = session.memory_mb()
        session.press(b"\x0f")
        session.wait_for(b"100 %")
        session.drain(1)
        paged = session.memory_mb()
        session.end()
    return size / 1e6, made, resumed, paged


def main():
    program = os.path.abspath(sys.argv[1])
    row = "{:44} {:>9}   {}".format
    print(row("start to first frame", f"{start_ms(program):.1f} ms", "at most 30"))
    key, deltas, idle, drawn = at_rest(program)
    headless = headless_s(program)
    print(row("key to frame at rest, 99th in 100", f"{key:.1f} ms", "at most 10"))
    print(row("20,000 deltas, processor time", f"{deltas * 1000:.0f} ms", f"headless {headless * 1000:.0f} ms"))
    print(row("- against the headless path", f"{deltas / headless:.2f}", "at most 2"))
    key, share = streaming(program)
    print(row("key to frame while a model streams, 99th", f"{key:.1f} ms", "at most 10"))
    print(row("processor while 100 deltas a second come", f"{share * 100:.1f} %", "at most 5"))
    print(row(f"processor in {IDLE_S} s without work", f"{abs(idle) / IDLE_S * 100:.2f} %", f"0.0; {drawn} bytes drawn"))
    size, made, resumed, paged = memory_mb(program)
    labels = [f"memory, session of {size:.1f} MB made", "- resumed", "- with all of it in the pager"]
    for label, aim, (now, most) in zip(labels, ["at most 40; "] * 3, [made, resumed, paged]):
        print(row(label, f"{now:.1f} MB", f"{aim}{most:.1f} at its height"))
    print(row("program", f"{os.path.getsize(program) / 1e6:.1f} MB", "at most 15"))


if __name__ == "__main__":
    main()
