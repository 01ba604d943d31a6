#!/usr/bin/env python3
"""Measures tenon against a floor: a compiled loop that does the same requests, file operations,
commands and log writes, and nothing else (crates/tenon/examples/floor.rs).

    python3 benches/run.py              all figures, about two minutes after the build
    python3 benches/run.py --quick      the same with fewer and shorter runs
    python3 benches/run.py --beside OLD the start alone, beside another build of tenon
    python3 benches/run.py --check      exit 1 if a target is missed that no busy machine can excuse

No model and no network: both talk to a scripted server on loopback (server.py). Runs alternate
between the two, so that whatever else the machine does meets both. Python 3.11, Linux.
"""
import argparse
import glob
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import scenarios
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MB = 1_000_000


# ---------------------------------------------------------------- programs

def build(*target):
    """Builds a release program and returns its path."""
    command = ["cargo", "build", "--release", "--package", "tenon", *target,
               "--message-format", "json-render-diagnostics"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    [path] = [path for line in lines if (path := json.loads(line).get("executable"))]
    return path


def programs(folder, build_them):
    """Copies of the program, of the program without the built-in model, and of the floor."""
    paths = {name: os.path.join(folder, name) for name in ("tenon", "tenon-small", "floor")}
    if build_them:
        os.makedirs(folder, exist_ok=True)
        # One after another: the second puts its program where that of the first was, and beside an example
        # the program has features of dependencies in it that only tests turn on.
        shutil.copy(build("--bin", "tenon", "--no-default-features"), paths["tenon-small"])
        shutil.copy(build("--bin", "tenon"), paths["tenon"])
        shutil.copy(build("--example", "floor"), paths["floor"])
    return paths


@dataclass
class Run:
    """The figures of one run of one program."""
    first_request_ms: float
    first_bytes: int
    gaps_ms: list
    peak_mb: float
    cpu_ms: float
    wall_ms: float


class Bench:
    def __init__(self, folder, paths):
        self.folder, self.paths, self.server = folder, paths, Server()
        self.runs = os.path.join(folder, "runs")
        self.count = 0
        shutil.rmtree(self.runs, ignore_errors=True)

    def tenon(self, scenario, program="tenon", record=False):
        """Runs tenon through `scenario`; with `record` returns the floor's plan as well."""
        home, workspace = self.fresh(scenario)
        url = f"http://{self.server.address}"
        argv = [self.paths[program], "run", "--model", "anthropic/mock-model", scenarios.PROMPT]
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "mock-key"}
        run, requests = self.start(argv, env, home, workspace, scenario, record)
        for path, content in scenario.expected_files().items():
            with open(os.path.join(workspace, path), encoding="utf-8") as file:
                if file.read() != content:
                    raise RuntimeError(f"{path} is not as the script made it")
        if not record:
            return run
        [log] = glob.glob(f"{home}/**/*.jsonl", recursive=True, include_hidden=True)
        with open(log, "rb") as file:
            lines = file.readlines()
        failed = [line for line in lines if json.loads(line).get("is_error")]
        if failed:
            raise RuntimeError(f"a call failed: {failed[0][:500]}")
        plan = os.path.join(self.folder, scenario.name + ".plan")
        with open(plan, "wb") as file:
            file.write(scenarios.plan_of(scenario, requests, lines))
        return run

    def floor(self, scenario):
        home, workspace = self.fresh(scenario)
        plan = os.path.join(self.folder, scenario.name + ".plan")
        argv = [self.paths["floor"], self.server.address, plan, os.path.join(home, "log")]
        return self.start(argv, {}, home, workspace, scenario, record=False)[0]

    def pairs(self, scenario, count):
        """Runs of tenon and of the floor by turns, after one of tenon that is recorded and not counted."""
        self.tenon(scenario, record=True)
        runs = {"tenon": [], "floor": []}
        for number in range(count):
            for name in ("tenon", "floor") if number % 2 == 0 else ("floor", "tenon"):
                runs[name].append(getattr(self, name)(scenario))
                print(f"{scenario.name:10} {name:5} {number + 1}/{count}", file=sys.stderr)
        return runs["tenon"], runs["floor"]

    def fresh(self, scenario):
        # Nothing is deleted before the end: ext4 passes over what was deleted in the last minutes one
        # by one whenever a file is made, which would count against whoever makes more.
        self.count += 1
        home, workspace = (os.path.join(self.runs, str(self.count), name) for name in ("home", "workspace"))
        for path in (home, workspace):
            os.makedirs(path)
        scenario.make_files(workspace)
        os.sync()                               # what was written before is not part of the run
        return home, workspace

    def start(self, argv, env, home, workspace, scenario, record):
        env = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **env}
        replies = scenario.replies()
        shown = os.path.join(self.folder, "output")
        with open(shown, "wb") as output:
            began = time.monotonic()
            process = subprocess.Popen(argv, env=env, cwd=workspace, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, close_fds=False)
            try:
                served = self.server.serve(process.pid, replies, record)
                ended = time.monotonic()
            except BaseException:
                process.kill()
                process.wait()
                raise
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or len(served.gaps_ms) != len(replies) - 1:
            with open(shown, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"{argv[0]} ended with {process.returncode} after {len(served.gaps_ms)} steps of "
                                   f"{scenario.name}: {file.read()[-2000:]}")
        return Run((served.first_request - began) * 1000, served.first_bytes, served.gaps_ms, served.peak_kb * 1024 / MB,
                   (usage.ru_utime + usage.ru_stime) * 1000, (ended - began) * 1000), served.requests


# ---------------------------------------------------------------- figures

@dataclass
class Figure:
    """One line of the table; `steady` figures do not depend on how busy the machine is."""
    name: str
    tenon: float
    floor: float | None = None
    unit: str = "ms"
    target: float | None = None
    of: str = "tenon"                   # what the target bounds: tenon's value or the ratio
    steady: bool = False

    @property
    def ratio(self):
        return self.tenon / self.floor if self.floor else None

    @property
    def met(self):
        return None if self.target is None else (self.ratio if self.of == "ratio" else self.tenon) <= self.target


def middle(runs, value):
    return statistics.median(value(run) for run in runs)


def step_ms(gaps, kind=None):
    """A step of the mix: the mean over the kinds of call of each kind's median; or of one kind."""
    count = len(scenarios.KINDS)
    kinds = range(count) if kind is None else [scenarios.KINDS.index(kind)]
    return statistics.mean(statistics.median(gaps[k::count]) for k in kinds)


def measure(bench, quick):
    figures = []

    def add(name, pairs, value, **rest):
        figures.append(Figure(name, middle(pairs[0], value), middle(pairs[1], value), **rest))

    hello = bench.pairs(scenarios.hello(), 5 if quick else 21)
    add("start to first request", hello, lambda run: run.first_request_ms, target=20)
    add("one answer, CPU time", hello, lambda run: run.cpu_ms)
    add("one answer, start to exit", hello, lambda run: run.wall_ms)
    figures.append(Figure("first request", hello[0][0].first_bytes, unit="bytes", target=6000, steady=True))
    small = [bench.tenon(scenarios.hello(), "tenon-small").peak_mb for _ in range(3)]
    memory = statistics.median(small)
    figures.append(Figure("peak memory", memory, middle(hello[1], lambda run: run.peak_mb), "MB", 30, steady=True))

    fifty = bench.pairs(scenarios.steps(50), 3 if quick else 7)
    add("a step, of 50", fifty, lambda run: step_ms(run.gaps_ms), target=3, of="ratio")
    long = bench.pairs(scenarios.steps(200 if quick else 1000), 1 if quick else 3)
    count = len(long[0][0].gaps_ms)
    add(f"a step, of {count}", long, lambda run: step_ms(run.gaps_ms), target=3, of="ratio")
    for kind in scenarios.KINDS:
        add(f"- {kind}", long, lambda run, kind=kind: step_ms(run.gaps_ms, kind))
    add("CPU time a step", long, lambda run: run.cpu_ms / count)
    end = count // 10
    growth = [step_ms(run.gaps_ms[-end:]) / step_ms(run.gaps_ms[:end]) for run in long[0]]
    floor_growth = [step_ms(run.gaps_ms[-end:]) / step_ms(run.gaps_ms[:end]) for run in long[1]]
    figures.append(Figure(f"last {end} steps / first {end}", statistics.median(growth),
                          statistics.median(floor_growth), "×", 1.5))
    add(f"peak memory, {count} steps", long, lambda run: run.peak_mb, unit="MB")

    deltas = 5_000 if quick else 20_000
    streamed = bench.pairs(scenarios.stream(deltas), 3 if quick else 5)
    add(f"{deltas:,} deltas, CPU time", streamed, lambda run: run.cpu_ms)
    add(f"{deltas:,} deltas, start to exit", streamed, lambda run: run.wall_ms)

    read = bench.pairs(scenarios.big_read(50 * MB), 3 if quick else 5)
    add("read from 50 MB", read, lambda run: run.gaps_ms[0])
    add("- peak memory", read, lambda run: run.peak_mb, unit="MB")
    printed = bench.pairs(scenarios.big_print(100 * MB), 1 if quick else 3)
    add("command prints 100 MB", printed, lambda run: run.gaps_ms[0])
    peak = statistics.median(bench.tenon(scenarios.big_print(100 * MB), "tenon-small").peak_mb for _ in range(3))
    figures.append(Figure("- memory above one answer", peak - memory, unit="MB", target=20, steady=True))

    size = os.path.getsize(bench.paths["tenon-small"]) / MB
    figures.append(Figure("program without built-in model", size, unit="MB", target=15, steady=True))
    figures.append(Figure("program", os.path.getsize(bench.paths["tenon"]) / MB, unit="MB"))
    return figures


def beside(bench, other):
    """Starts tenon and another build of it by turns, and says how long each took to its first request."""
    bench.paths["other"] = os.path.abspath(other)
    names, hello = ["tenon", "other"], scenarios.hello()
    runs = {name: [] for name in names}
    for number in range(41):
        for name in names if number % 2 == 0 else reversed(names):
            runs[name].append(bench.tenon(hello, name).first_request_ms)
    told = (f"{name} {statistics.median(times):.2f} (p10 {statistics.quantiles(times, n=10)[0]:.2f})"
            for name, times in runs.items())
    return "start to first request, ms: " + ", ".join(told)


# ---------------------------------------------------------------- table

def number(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(figures):
    lines = ["| | unit | tenon | floor | ratio | target | |", "|---|---|---:|---:|---:|---:|---|"]
    for figure in figures:
        target = "" if figure.target is None else f"≤ {figure.target:,}" + (" × floor" if figure.of == "ratio" else "")
        verdict = {None: "", True: "met", False: "**missed**"}[figure.met]
        lines.append(f"| {figure.name} | {figure.unit} | {number(figure.tenon)} | {number(figure.floor)} "
                     f"| {number(figure.ratio)} | {target} | {verdict} |")
    return "\n".join(lines)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return f"{os.cpu_count()} cores {model}, {memory:.0f} GB, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--json", metavar="OUT", help="write every figure to this file")
    parser.add_argument("--check", action="store_true", help="exit 1 if bytes, memory or size miss their targets")
    parser.add_argument("--beside", metavar="OLD", help="measure the start alone, by turns with this other build of tenon")
    parser.add_argument("--no-build", action="store_true", help="measure what the last call built")
    parser.add_argument("--folder", default=os.path.join(ROOT, "target", "bench"),
                        help="where programs and workspaces go; its disk is measured, too")
    options = parser.parse_args()
    bench = Bench(options.folder, programs(options.folder, not options.no_build))
    where = machine()
    if options.beside:
        print(f"{time.strftime('%Y-%m-%d')}, {where}\n\n{beside(bench, options.beside)}")
        return shutil.rmtree(bench.runs)
    figures = measure(bench, options.quick)
    shutil.rmtree(bench.runs)
    print(f"{time.strftime('%Y-%m-%d')}, {where}\n\n{table(figures)}")
    if options.json:
        rows = [{**vars(figure), "ratio": figure.ratio, "met": figure.met} for figure in figures]
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"date": time.strftime("%Y-%m-%d"), "machine": where, "figures": rows}, file, indent=1)
    missed = [figure.name for figure in figures if figure.steady and figure.met is False]
    if options.check and missed:
        sys.exit("missed: " + ", ".join(missed))


if __name__ == "__main__":
    main()
