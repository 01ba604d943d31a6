"""What the programs are asked to do, and the plan from which the floor repeats a real run."""
import json
import os
from dataclasses import dataclass, field

from server import call_reply, text_reply

PROMPT = "hi"
ANSWER = "DONE"
KINDS = ("read_file", "write_file", "edit_file", "grep", "bash")
BIG_LINE = b"a line of a large file, ninety-nine characters of it, so that the count of lines is easy to see...\n"


@dataclass
class Scenario:
    """Files, and a script of calls that ends with a text."""
    name: str
    calls: list = field(default_factory=list)       # (tool, arguments)
    files: dict = field(default_factory=dict)       # path -> bytes
    words: list = field(default_factory=lambda: [ANSWER])

    def replies(self):
        calls = [call_reply(number, tool, arguments) for number, (tool, arguments) in enumerate(self.calls)]
        return calls + [text_reply(len(calls), self.words)]

    def make_files(self, workspace):
        for path, content in self.files.items():
            path = os.path.join(workspace, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def expected_files(self):
        """The files that the calls write, as they must be at the end."""
        files = {}
        for tool, arguments in self.calls:
            path = arguments.get("path")
            if tool == "write_file":
                files[path] = arguments["content"]
            elif tool == "edit_file":
                files[path] = files[path].replace(arguments["old_text"], arguments["new_text"])
        return files


def hello():
    return Scenario("hello")


def steps(count):
    """Cheap calls in sequence: read, write, edit, grep, bash, and again."""
    scenario = Scenario(f"steps{count}")
    for k in range(20):
        lines = (f"line {number} of module {k}\n" for number in range(1, 51))
        scenario.files[f"src/module_{k}.txt"] = "".join(lines).encode()
    for number in range(count):
        group, k = divmod(number, len(KINDS))
        part = f"out/part_{group}.txt"
        scenario.calls.append([
            ("read_file", {"path": f"src/module_{group % 20}.txt"}),
            ("write_file", {"path": part, "content": f"round {group}\nalpha\nbeta\n"}),
            ("edit_file", {"path": part, "old_text": "alpha", "new_text": f"gamma {group}"}),
            ("grep", {"pattern": f"line 7 of module {group % 20}", "path": "src"}),
            ("bash", {"command": f"true {group}"}),
        ][k])
    return scenario


def stream(count):
    return Scenario("stream", words=[f"word{number % 100:02} " for number in range(count)])


def big_read(size):
    return Scenario("big_read", [("read_file", {"path": "big.txt"})], {"big.txt": BIG_LINE * (size // len(BIG_LINE))})


def big_print(size):
    return Scenario("big_print", [("bash", {"command": f"yes 'a line of output that nobody reads in full' | head -c {size}"})])


# ---------------------------------------------------------------- the floor's plan

def plan_of(scenario, requests, log_lines):
    """The bytes of a plan for the floor: what a real run sent, did and logged, in its own order."""
    requests, calls, files, plan = iter(requests), iter(scenario.calls), {}, []
    for line in log_lines:
        kind = json.loads(line)["type"]
        if kind == "assistant_message":
            kept, new = next(requests)
            plan += [b"request %d %d\n" % (kept, len(new)), new]
        elif kind == "tool_result":
            plan.append(operation(*next(calls), files))
        plan += [b"log %d\n" % len(line), line]
    if next(requests, None) or next(calls, None):
        raise RuntimeError("the log holds fewer replies or results than there were")
    return b"".join(plan)


def operation(tool, arguments, files):
    path = arguments.get("path", "")
    if tool == "read_file":
        return f"read {path}\n".encode()
    if tool == "write_file":
        files[path] = arguments["content"]
        return f"write {path} {len(files[path])}\n{files[path]}".encode()
    if tool == "edit_file":
        files[path] = files[path].replace(arguments["old_text"], arguments["new_text"])
        return f"edit {path} {len(files[path])}\n{files[path]}".encode()
    if tool == "grep":
        return f"grep {path} {len(arguments['pattern'])}\n{arguments['pattern']}".encode()
    return f"run {len(arguments['command'])}\n{arguments['command']}".encode()
