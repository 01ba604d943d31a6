#!/usr/bin/env python3
"""Measures the interactive session on a pseudo-terminal: start to first frame, key to frame, processor time
of an answer of 20,000 deltas against the plain run, idle processor time, memory.

    python3 benches/terminal.py PROGRAM

The model is a script whose deltas are all there at once, so no key comes between them. The times include the kernel's terminal and this reader of it. Python 3.11, Linux.
"""
import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Session:
    """The program on a terminal of 80 columns and 30 rows."""

    def __init__(self, program, turns, arguments=()):
        self.home = tempfile.TemporaryDirectory()
        work = os.path.join(self.home.name, "work")
        os.mkdir(work)
        script = os.path.join(self.home.name, "script.json")
        with open(script, "w") as file:
            json.dump({"turns": turns}, file)
        self.started = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
            environment = {"HOME": self.home.name, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
                           "TERM": "xterm-256color"}
            command = [program, "--model", f"scripted:{script}", "--cwd", work, *arguments]
            os.execve(program, command, environment)
        self.seen = self.all = b""

    def read(self):
        read = os.read(self.terminal, 65536)
        self.seen += read
        self.all += read
        return len(read)

    def wait_for(self, text, seconds=60):
        """Reads until `text` came and returns how long that took."""
        began = time.monotonic()
        while text not in self.seen:
            if time.monotonic() - began > seconds:
                raise SystemExit(f"no {text!r} in {self.seen[-2000:]!r}")
            if select.select([self.terminal], [], [], 0.5)[0]:
                self.read()
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
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self):
        with open(f"/proc/{self.pid}/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        self.home.cleanup()


def start_ms(program):
    times = []
    for _ in range(20):
        session = Session(program, [])
        session.wait_for(b"\x1b[?2026l")
        times.append((time.monotonic() - session.started) * 1000)
        session.end()
    return statistics.median(times)


def session_figures(program):
    """Key to frame at the 99th percentile, then processor time and memory of the answer, then idle."""
    session = Session(program, [{"words": 20000}])
    session.wait_for(b"Ctrl-D")
    session.drain(0.5)
    times = []
    for _ in range(200):
        session.seen = b""
        session.press(b"#")
        times.append(session.wait_for(b"\x1b[?2026l") * 1000)
    session.press(b"\x15go\r")
    session.wait_for(b"1 step")
    session.drain(0.5)
    spent, memory = session.processor_s(), session.memory_mb()
    written = session.drain(10)
    idle = session.processor_s() - spent
    session.end()
    return sorted(times)[int(len(times) * 0.99)], spent, memory, idle, written


def plain_s(program):
    """Processor time of the same answer in the plain run."""
    session = Session(program, [{"words": 20000}], ["go"])
    session.wait_for(b"1 step")
    _, _, usage = os.wait4(session.pid, 0)
    session.home.cleanup()
    return usage.ru_utime + usage.ru_stime


def main():
    program = os.path.abspath(sys.argv[1])
    print(f"start to first frame        {start_ms(program):8.1f} ms   (at most 30)")
    key, spent, memory, idle, written = session_figures(program)
    plain = plain_s(program)
    print(f"key to frame, 99th in 100   {key:8.1f} ms   (at most 10)")
    print(f"20,000 deltas, 200 keys     {spent:8.2f} s of processor time, plain run {plain:.2f} s")
    print(f"memory at most              {memory:8.1f} MB   (at most 40)")
    print(f"idle for 10 s               {idle:8.2f} s of processor time, {written} bytes drawn")
    print(f"program                     {os.path.getsize(program) / 1e6:8.1f} MB   (at most 15)")


if __name__ == "__main__":
    main()
