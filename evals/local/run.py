#!/usr/bin/env python3
"""Runs small tasks with the built-in model and prints a table.

    evals/local/run.py --tenon target/release/tenon --cache ~/.cache [TASK ...]

Each task gets a clean folder and a clean HOME. What it says is held against its check, a shell
command that sees the folder and, in $ANSWER_FILE, the answer. Tasks with `held_out` are set
aside: nobody looks at them while the recipe is tuned. Needs Python 3 and nothing else.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_MAX = 300  # a task takes about 10; twice as slow a machine under load stays within


def main():
    options = arguments()
    tasks = chosen(options)
    if not tasks:
        sys.exit("no task has that name")
    rows = []
    print(f"{'task':22} {'in':>6} {'cached':>7} {'out':>5} {'steps':>5} {'s':>6}  verdict", flush=True)
    for name, task in tasks:
        row = run(name, task, options)
        rows.append(row)
        print(
            f"{name:22} {row['input']:6} {row['cached']:7} {row['output']:5} "
            f"{row['steps']:5} {row['seconds']:6.1f}  {row['verdict']}",
            flush=True,
        )
        if options.verbose or row["verdict"] != "passed":
            print("    " + row["answer"][:300].replace("\n", "\n    "), flush=True)
    close(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    sys.exit(0 if all(row["verdict"] == "passed" for row in rows) else 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", help="names, or beginnings of names")
    parser.add_argument("--tenon", required=True, help="the program")
    parser.add_argument("--cache", default=os.environ.get("XDG_CACHE_HOME") or "~/.cache",
                        help="the cache folder with the pulled model in it")
    parser.add_argument("--only", choices=["tuned", "held-out", "spec", "tasks"])
    parser.add_argument("--json", help="write the rows to this file, too")
    parser.add_argument("--verbose", action="store_true", help="show every answer")
    return parser.parse_args()


def chosen(options):
    found = []
    for folder in ["tasks", "spec"]:
        for path in sorted((HERE / folder).glob("*.json")):
            task = json.loads(path.read_text())
            groups = {"spec"} if folder == "spec" else {
                "tasks", "held-out" if task["held_out"] else "tuned"}
            task["group"] = "spec" if folder == "spec" else (
                "held out" if task["held_out"] else "tuned")
            named = not options.tasks or any(path.stem.startswith(name) for name in options.tasks)
            if named and (options.only is None or options.only in groups):
                found.append((path.stem, task))
    return found


def run(name, task, options):
    with tempfile.TemporaryDirectory(prefix="tenon-eval-") as base:
        base = pathlib.Path(base)
        folder, home = base / name, base / "home"
        folder.mkdir()
        home.mkdir()
        for path, text in task["files"].items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8",
            "XDG_CACHE_HOME": str(pathlib.Path(options.cache).expanduser().resolve()),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for key in ("TENON_MODEL_FILE",):
            if key in os.environ:
                environment[key] = os.environ[key]
        program = str(pathlib.Path(options.tenon).resolve())
        command = [program, "-p", "--model", "local", "--output-format", "json", task["prompt"]]
        start = time.monotonic()
        try:
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=SECONDS_MAX)
            output, code = done.stdout.decode(errors="replace"), done.returncode
            if code:
                output = output or done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            output, code = "", "no end"
        row = read(output)
        row.update(task=name, group=task["group"], kind=task["kind"],
                   seconds=round(time.monotonic() - start, 1))
        answer_file = base / "answer.txt"
        answer_file.write_text(row["answer"] + "\n")
        environment["ANSWER_FILE"] = str(answer_file)
        check = subprocess.run(["bash", "-c", task["check"]], cwd=folder, env=environment,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        if code == "no end":
            row["verdict"] = f"failed: no end after {SECONDS_MAX} s"
        elif code:
            row["verdict"] = f"failed: the program ended with {code}"
        else:
            row["verdict"] = "passed" if check.returncode == 0 else "failed: check"
        return row


def read(output):
    """Takes what is needed from the program's JSON."""
    try:
        value = json.loads(output.strip().splitlines()[-1] if output.strip() else "{}")
    except json.JSONDecodeError:
        try:
            value = json.loads(output)
        except json.JSONDecodeError:
            value = {"result": output}
    usage = value.get("usage") or {}
    return {
        "answer": str(value.get("result") or value.get("answer") or ""),
        "input": usage.get("input", 0),
        "cached": usage.get("cache_read", 0),
        "output": usage.get("output", 0),
        "steps": value.get("steps") or 0,
    }


def close(rows):
    parts = []
    for group in ["tuned", "held out", "spec"]:
        of = [row for row in rows if row["group"] == group]
        if of:
            passed = sum(row["verdict"] == "passed" for row in of)
            parts.append(f"{group} {passed} of {len(of)}")
    seconds = sum(row["seconds"] for row in rows)
    passed = sum(row["verdict"] == "passed" for row in rows)
    print(f"{passed} of {len(rows)} passed ({', '.join(parts)}) in {seconds:.0f} s")


main()
