#!/usr/bin/env python3
"""Measures what undo costs: commands with and without a checkpoint, its end counted, in the best tier,
and `true` in the others, too.

    python3 benches/undo.py               every command, about five minutes after the build
    python3 benches/undo.py --only files  those whose name has this word
    python3 benches/undo.py --folder DIR  on that folder's file system (default /var/tmp)

The program is an example of tenon-sandbox (journal); in it both ways take turns. The ratio is that of
the best times, so that what else the machine does counts least; the load is told.
"""
import argparse
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = re.compile(r"^(.+?)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)$")

# Ratio to the plain command.
TARGETS = {
    "grep over 5,000 files": 1.1,
    "cargo build of a new crate": 1.1,
    "git checkout of 2,000 files": 1.8,
    "20,000 new files from Python": 2.0,
    "1 MB appended to 1 GB": 1.1,
}
# More than the plain command, in milliseconds.
CALL_TARGET_MS = 0.3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default="/var/tmp")
    arguments = parser.parse_args()
    build = ["cargo", "build", "--release", "--package", "tenon-sandbox", "--example", "journal"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = os.path.join(ROOT, "target", "release", "examples", "journal")
    before = os.getloadavg()[0]
    command = [program, arguments.folder] + ([arguments.only] if arguments.only else [])
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    print("| command | without, ms | with, ms | of it the end | ratio | target | |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for match in filter(None, map(LINE.match, out.splitlines())):
        name, (plain, recorded, ratio, end) = match[1].strip(), map(float, match.groups()[1:])
        row = f"| {name} | {plain:.2f} | {recorded:.2f} | {end:.2f} | {ratio:.2f} |"
        if name.startswith("true"):
            met = recorded - plain <= CALL_TARGET_MS
            print(f"{row} + {CALL_TARGET_MS} ms | {'met' if met else '**missed**'} |")
        elif name in TARGETS:
            print(f"{row} {TARGETS[name]} | {'met' if ratio <= TARGETS[name] else '**missed**'} |")
        else:
            print(f"{row} | |")
    after = os.getloadavg()[0]
    skipped = [line for line in out.splitlines() if "skipped: " in line]
    print("", *skipped, sep="\n")
    print(f"{os.cpu_count()} processors, load {before:.1f} at the beginning and {after:.1f} at the end.")


if __name__ == "__main__":
    main()
