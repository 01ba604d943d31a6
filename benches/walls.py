#!/usr/bin/env python3
"""Measures what the walls cost: a command in each tier beside plain bash, and a file read beside a
plain open and beside canonicalize-and-compare.

    python3 benches/walls.py              five runs, about two minutes after the build
    python3 benches/walls.py --runs 1

The programs are examples of tenon-sandbox (spawn, read); in each of them all kinds take turns. Of
several runs the one with the lowest median of the plain way counts, as the least disturbed. What the
walls add is compared with what the plain way takes in the same run: at most 1.33 of it for a command,
5.33 for the first (1 and 4 ms where the plain way took 0.75). Run by root, the commands are measured as
an ordinary user (nobody), too: root's walls hide more.
"""
import argparse
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = re.compile(r"^(.+?)\s+p10\s+([\d.]+) \w+\s+p50\s+([\d.]+) \w+\s+p90\s+([\d.]+)")

# Above the plain way, in milliseconds, where that took PLAIN_MS. On another machine, or another day, a
# process takes longer to start or shorter, with walls and without: what is compared is the ratio.
TARGETS = {"tier A, warm": 1.0, "tier A, first command of a session": 4.0, "tier A, first command, begun ahead": 4.0}
PLAIN_MS = 0.75
READ_TARGET_US = 10.0

NOBODY = 65534


def run(example, as_nobody=False):
    """Returns the lines of one run: name -> (p10, p50, p90)."""
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": {"PATH": "/usr/bin:/bin"}} if as_nobody else {}
    out = subprocess.run([os.path.join(ROOT, "target", "release", "examples", example)], check=True, cwd="/",
                         stdout=subprocess.PIPE, text=True, **other).stdout
    found = (LINE.match(line) for line in out.splitlines())
    return {m[1].strip(): tuple(float(m[n]) for n in (2, 3, 4)) for m in found if m}


def least_disturbed(example, runs, as_nobody=False):
    results = [run(example, as_nobody) for _ in range(runs)]
    return min(results, key=lambda result: next(iter(result.values()))[1])


def verdict(met):
    return "met" if met else "**missed**"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    subprocess.run(["cargo", "build", "--release", "--package", "tenon-sandbox", "--examples"], cwd=ROOT, check=True)
    load = os.getloadavg()[0]

    is_root = os.geteuid() == 0
    for as_nobody in (False, True) if is_root else (False,):
        who = "" if not is_root else " as an ordinary user" if as_nobody else " as root"
        spawn = least_disturbed("spawn", runs, as_nobody)
        plain = spawn["plain bash"]
        print(f"| a command{who}, ms | p10 | p50 | p90 | p50 over plain | in plain ones | target | |")
        print("|---|---:|---:|---:|---:|---:|---:|---|")
        for name, (p10, p50, p90) in spawn.items():
            over, target = p50 - plain[1], TARGETS.get(name)
            ratio, most = over / plain[1], target and target / PLAIN_MS
            end = f" ≤ {most:.2f} | {verdict(ratio <= most)} |" if target else " | |"
            print(f"| {name} | {p10:.2f} | {p50:.2f} | {p90:.2f} | {over:.2f} | {ratio:.2f} |{end}")
        print()

    read = least_disturbed("read", runs)
    compared = read["canonicalize and compare"][1]
    print("| a file of 4 KiB, µs | p10 | p50 | p90 | target | |")
    print("|---|---:|---:|---:|---:|---|")
    for name, (p10, p50, p90) in read.items():
        end = " | |"
        if name == "workspace":
            end = f" ≤ {READ_TARGET_US:g}, below canonicalize | {verdict(p50 <= READ_TARGET_US and p50 < compared)} |"
        print(f"| {name} | {p10:.1f} | {p50:.1f} | {p90:.1f} |{end}")
    print(f"\nLoad before: {load:.1f}.")


if __name__ == "__main__":
    main()
