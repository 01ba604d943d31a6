#!/usr/bin/env python3
"""Measures interactive sessions of tenon and of other agents on a pseudo-terminal, all with the same eyes and script.

    python3 benches/peers_terminal.py PROGRAM NODE_MODULES [NAME ...]

PROGRAM is tenon, NODE_MODULES the folder where npm put the others, NAME those of AGENTS to measure (else all). Each has
a home of its own, signed in and with the folder trusted by its config files, and a scripted model (dialects.py) on
loopback. A frame that shows a key ends when the letter has been written, or with the synchronized update it is in.
Memory is PSS, processor time that of all processes. Everything runs in namespaces of its own: no network but
loopback, and no process stays behind. Python 3.11, Linux, unshare.
"""
import dataclasses
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import socket
import statistics
import struct
import sys
import tempfile
import termios
import time
import urllib.request

import dialects
from terminal import DELTAS, IDLE_S, percentile

STARTS = 5
SETTLE_S = 10                # from the first frame to rest
KEYS = 200
FRAME_WAIT_S = 20
TURN_WAIT_S = 240
QUIET_S = 3                  # after the last word of an answer; what is still done in it counts
LETTERS_MIN = 20             # on the screen: a frame and not the first signs of one
LETTER_FIRST = 0x430         # letters that no program shows by itself and none takes for a command
LINE_KEYS = 40               # different ones before the line is emptied

# What a terminal is asked, and what xterm says.
ANSWERS = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[0c", b"\x1b[?62;22c"),
           (b"\x1b[?u", b"\x1b[?0u"), (b"\x1b]11;?", b"\x1b]11;rgb:1414/1616/1b1b\x1b\\"),
           (b"\x1b]10;?", b"\x1b]10;rgb:d5d5/d9d9/e0e0\x1b\\")]
PAINT = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[P_^][^\x1b]*\x1b\\|.)|[\x00-\x20]")
DRAW, DRAWN = b"\x1b[?2026h", b"\x1b[?2026l"


# ---------------------------------------------------------------- the agents

@dataclasses.dataclass
class Place:
    """Where an agent is started: its empty home, its workspace in it, its model server, and what is installed."""
    home: str
    work: str
    url: str
    tenon: str
    modules: str

    def put(self, name, value):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))

    def installed(self, name):
        return os.path.realpath(os.path.join(self.modules, ".bin", name))


def tenon(place):
    place.put(".config/tenon/config.toml", "context_window = 4_000_000\n")
    return [place.tenon, "--model", "anthropic/mock-model"], {
        "ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": "mock-key"}


def claude(place):
    place.put(".claude.json", {
        "hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["mock-key"]},
        "projects": {place.work: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}})
    return [place.installed("claude")], {
        "ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": "mock-key", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def codex(place):
    place.put(".codex/config.toml", f"""\
model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "{place.url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
[analytics]
enabled = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[projects."{place.work}"]
trust_level = "trusted"
""")
    native = os.path.join(place.modules, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
    return [native, "--dangerously-bypass-approvals-and-sandbox"], {"MOCK_KEY": "mock-key"}


def opencode(place):
    model = {"name": "mock", "tool_call": True, "limit": {"context": 1_000_000, "output": 32_000}}
    place.put(".config/opencode/opencode.json", {
        "model": "mock/mock-model", "autoupdate": False, "share": "disabled",
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock-model": model},
                              "options": {"baseURL": f"{place.url}/v1", "apiKey": "mock-key"}}}})
    return [place.installed("opencode")], {
        "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}


def pi(place):
    place.put(".pi/agent/models.json", {"providers": {"mock": {
        "baseUrl": place.url, "api": "anthropic-messages", "apiKey": "mock-key",
        "models": [{"id": "mock-model", "contextWindow": 1_000_000, "maxTokens": 32_000}]}}})
    return ["node", place.installed("pi"), "--offline", "--provider", "mock", "--model", "mock-model"], {}


def gemini(place):
    place.put(".gemini/settings.json", {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}})
    return ["node", place.installed("gemini"), "--skip-trust", "-m", "gemini-2.5-flash"], {
        "GEMINI_API_KEY": "mock-key", "GOOGLE_GEMINI_BASE_URL": place.url}


# Name, package, configuration and start, and the tool that reads a file.
AGENTS = [
    ("tenon", None, tenon, ("read_file", {"path": "{file}"})),
    ("Codex", "@openai/codex", codex, ("exec_command", {"cmd": "cat {file}"})),
    ("Claude Code", "@anthropic-ai/claude-code", claude, ("Read", {"file_path": "{work}/{file}"})),
    ("pi", "@mariozechner/pi-coding-agent", pi, ("read", {"path": "{file}"})),
    ("Gemini CLI", "@google/gemini-cli", gemini, ("read_file", {"file_path": "{work}/{file}"})),
    ("opencode", "opencode-ai", opencode, ("read", {"filePath": "{work}/{file}"})),
]


# ---------------------------------------------------------------- one session

def processes(own):
    """All processes of this namespace but the bench's own."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid not in own]


class Session:
    """An agent on a terminal of 80 columns and 30 rows."""

    def __init__(self, place, start, server):
        argv, variables = start(place)
        kept = {"PATH": os.environ["PATH"], "HOME": place.home, "TMPDIR": f"{place.home}/tmp", "LANG": "C.UTF-8",
                "TERM": "xterm-256color", "SHELL": "/bin/bash", "USER": "bench"}
        self.own = {os.getpid(), server.pid}
        self.started, self.seen, self.drawn = time.monotonic(), b"", 0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
            os.chdir(place.work)
            os.execvpe(argv[0], argv, {**kept, **variables})

    def read(self, seconds):
        """Reads what comes within so long, and answers what a terminal is asked."""
        if not select.select([self.terminal], [], [], max(seconds, 0))[0]:
            return
        try:
            read = os.read(self.terminal, 65536)
        except OSError:
            raise RuntimeError(f"it ended: {self.shown()}") from None
        self.drawn += len(read)
        self.seen = (self.seen + read)[-200_000:]
        for question, answer in ANSWERS:
            if question in read:
                os.write(self.terminal, answer * read.count(question))

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def wait(self, done, seconds):
        """Reads until `done` and returns how many milliseconds that took."""
        began = time.monotonic()
        while not done():
            self.read(1)
            if time.monotonic() - began > seconds:
                raise RuntimeError(f"nothing in {seconds} s: {self.shown()}")
        return (time.monotonic() - began) * 1000

    def first_frame_ms(self):
        self.wait(lambda: len(PAINT.sub(b"", self.seen)) >= LETTERS_MIN, 60)
        return (time.monotonic() - self.started) * 1000

    def has_drawn(self, letter):
        """Whether the letter was written and the synchronized update that it stands in, if any, has ended."""
        at = self.seen.find(letter)
        inside = self.seen.rfind(DRAW, 0, max(at, 0)) > self.seen.rfind(DRAWN, 0, max(at, 0))
        return at >= 0 and (not inside or DRAWN in self.seen[at:])

    def keys_ms(self, until=None):
        """From a key to the end of the frame that shows it, for KEYS keys or until that time."""
        times = []
        for number in range(KEYS):
            if number % LINE_KEYS == 0:
                self.press(b"\x15")
                self.rest(0.3)
            if until and time.monotonic() > until:
                break
            self.rest(random.uniform(0, 0.05))
            letter = chr(LETTER_FIRST + number % LINE_KEYS).encode()
            self.seen = b""
            self.press(letter)
            times.append(self.wait(lambda: self.has_drawn(letter), FRAME_WAIT_S))
        self.press(b"\x15")
        self.rest(0.5)
        return times

    def press(self, keys):
        os.write(self.terminal, keys)

    def ask(self, prompt):
        """Types the prompt; the pause keeps its Enter from being taken for a part of a paste."""
        self.press(prompt)
        self.rest(1)
        self.press(b"\r")

    def wait_for_end(self, prompt):
        self.wait(lambda: dialects.END[prompt].encode() in self.seen, TURN_WAIT_S)

    def processor_s(self):
        """Processor time of all processes and of their children that ended."""
        ticks = 0
        for pid in processes(self.own):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:15]))
            except OSError:
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self):
        """Memory of all processes, and how many they are."""
        sizes = []
        for pid in processes(self.own):
            try:
                with open(f"/proc/{pid}/smaps_rollup") as file:
                    sizes += [int(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith("Pss:")]
            except OSError:
                pass
        return sum(sizes), len(sizes)

    def shown(self):
        return " ".join(PAINT.sub(b" ", self.seen).decode(errors="replace").split())[-400:]

    def end(self):
        """Ends all that the agent started."""
        while left := processes(self.own):
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
                except (ProcessLookupError, ChildProcessError):
                    pass
            time.sleep(0.01)
        os.close(self.terminal)


# ---------------------------------------------------------------- figures

def starts(begin, row):
    frames = []
    for _ in range(STARTS):
        session = begin()
        frames.append(session.first_frame_ms())
        session.rest(0.5)
        session.end()
    row["first frame ms"] = f"{statistics.median(frames):,.0f}"


def at_rest(session, row):
    session.first_frame_ms()
    session.rest(SETTLE_S)
    before, drawn = session.processor_s(), session.drawn
    session.rest(IDLE_S)
    row["processor %"] = f"{(session.processor_s() - before) / IDLE_S * 100:.1f}"
    row["drawn bytes"] = f"{session.drawn - drawn:,}"
    memory, count = session.memory_mb()
    row["memory MB"], row["processes"] = f"{memory:,.0f}", str(count)


def key_cell(times):
    return f"{statistics.median(times):.1f} / {percentile(times):.1f}"


def keys_at_rest(session, row):
    row["key ms"] = key_cell(session.keys_ms())


def streaming(session, row):
    """Processor time while a model streams, then keys; the stream goes on meanwhile."""
    session.ask(dialects.SLOW)
    session.wait(lambda: dialects.BEGIN[dialects.SLOW].encode() in session.seen, FRAME_WAIT_S)
    began, before = time.monotonic(), session.processor_s()
    session.rest(dialects.STREAM_S / 3)
    row["processor, streaming %"] = f"{(session.processor_s() - before) / (time.monotonic() - began) * 100:.1f}"
    row["key, streaming ms"] = key_cell(session.keys_ms(began + dialects.STREAM_S - 1))
    session.wait_for_end(dialects.SLOW)
    session.rest(QUIET_S)


def all_deltas(session, row):
    before = session.processor_s()
    session.ask(dialects.MANY)
    session.wait_for_end(dialects.MANY)
    session.rest(QUIET_S)
    row[f"{DELTAS:,} deltas s"] = f"{session.processor_s() - before:.2f}"


def long_session(session, row, url):
    session.first_frame_ms()
    session.rest(QUIET_S)
    session.ask(dialects.LONG)
    session.wait_for_end(dialects.LONG)
    session.rest(QUIET_S)
    memory, _ = session.memory_mb()
    row["memory MB after 10 MB"] = f"{memory:,.0f}"
    with urllib.request.urlopen(f"{url}/largest") as answer:
        row["last request MB"] = f"{int(answer.read()) / 1e6:.1f}"


def measure(name, figure, *arguments):
    """A figure that cannot be had stays empty, and the reason is said."""
    try:
        figure(*arguments)
    except RuntimeError as reason:
        print(f"{name}: {figure.__name__}: {reason}", file=sys.stderr)


def row_of(agent, tenon_path, modules):
    name, package, start, (tool, arguments) = agent
    row = {"load": f"{os.getloadavg()[0]:.1f}"}
    if package:
        with open(os.path.join(modules, package, "package.json")) as file:
            name = f"{name} {json.load(file)['version']}"
    row[""] = name if package else "**tenon**"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        work = os.path.join(home, "work")
        os.mkdir(work)
        os.mkdir(os.path.join(home, "tmp"))
        for number in range(dialects.STEPS * dialects.READS):
            with open(os.path.join(work, f"{number}.txt"), "w") as file:
                file.writelines(f"line {line} of file {number}\n" for line in range(dialects.FILE_LINES))
        read = tool, {key: value.replace("{work}", work) for key, value in arguments.items()}
        server = dialects.Server(read)
        place = Place(home, work, server.url, tenon_path, modules)
        measure(name, starts, lambda: Session(place, start, server), row)
        session = Session(place, start, server)
        measure(name, at_rest, session, row)
        measure(name, keys_at_rest, session, row)
        measure(name, streaming, session, row)
        measure(name, all_deltas, session, row)
        session.end()
        session = Session(place, start, server)
        measure(name, long_session, session, row, server.url)
        session.end()
        server.end()
    print(row, file=sys.stderr)
    return row


TABLES = [
    ["first frame ms", "memory MB", "processor %", "drawn bytes", "processes", "load"],
    ["key ms", "key, streaming ms", "processor, streaming %", f"{DELTAS:,} deltas s", "memory MB after 10 MB",
     "last request MB", "load"],
]


def print_table(columns, rows):
    print(f"| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for row in rows:
        print(f"| {row['']} | {' | '.join(row.get(column, '–') for column in columns)} |")
    print()


def loopback_up():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14s", b"lo", 1, b""))     # SIOCSIFFLAGS, IFF_UP


def main():
    if "--inside" not in sys.argv:
        namespaces = ["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        os.execvp("unshare", ["unshare", *namespaces, sys.executable, *sys.argv, "--inside"])
    loopback_up()
    tenon_path, modules, *names = sys.argv[1:-1]
    chosen = [agent for agent in AGENTS if not names or agent[0] in names]
    rows = [row_of(agent, os.path.abspath(tenon_path), os.path.abspath(modules)) for agent in chosen]
    for columns in TABLES:
        print_table(columns, rows)


if __name__ == "__main__":
    main()
