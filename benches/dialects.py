"""A scripted model server for interactive sessions, in the four dialects that agents speak, on loopback.

What it answers stands in the prompt: of PROMPTS, the one that comes last in a request. It keeps no state: each
step of the long session says its number, and the last number in a request tells which is next. Questions without
tools (titles, summaries) get one word. It runs in a process of its own, whose time is in no figure.
"""
import http.server
import itertools
import json
import os
import re
import signal
import time

from terminal import DELTAS, DELTAS_A_SECOND

STREAM_S = 25                # how long the slow stream lasts
STEPS = 52                   # of the long session
READS = 8                    # in each of them, of files of 20 KB: 10 MB
FILE_LINES = 900
SENTENCES = 20
# Each answer begins and ends with a letter that is nowhere else, so that a terminal can be searched for it.
SLOW, MANY, LONG = PROMPTS = [b"Tell it slowly please", b"Tell it all at once please", b"Read all files please"]
BEGIN = dict(zip(PROMPTS, "ɞɤɮ"))
END = dict(zip(PROMPTS, "ɷʘʬ"))


# ---------------------------------------------------------------- dialects: words and calls, as events

NUMBERS = itertools.count()


def event(value, named=False):
    name = f"event: {value['type']}\n" if named else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


def anthropic(words, calls):
    def block(index, start, deltas):
        yield event({"type": "content_block_start", "index": index, "content_block": start}, True)
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, True)
        yield event({"type": "content_block_stop", "index": index}, True)
    yield event({"type": "message_start", "message": {
        "id": f"msg_{next(NUMBERS)}", "type": "message", "role": "assistant", "model": "mock-model", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1000, "output_tokens": 1}}}, True)
    yield from block(0, {"type": "text", "text": ""}, ({"type": "text_delta", "text": word} for word in words))
    for index, (key, name, arguments) in enumerate(calls, 1):
        start = {"type": "tool_use", "id": key, "name": name, "input": {}}
        yield from block(index, start, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}])
    yield event({"type": "message_delta", "usage": {"output_tokens": 20},
                 "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}}, True)
    yield event({"type": "message_stop"}, True)


def chat(words, calls):
    answer_id = f"chat_{next(NUMBERS)}"
    def chunk(delta, reason=None):
        return event({"id": answer_id, "object": "chat.completion.chunk", "created": 1, "model": "mock-model",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    for word in words:
        yield chunk({"role": "assistant", "content": word})
    for index, (key, name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        yield chunk({"tool_calls": [{"index": index, "id": key, "type": "function", "function": function}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield b"data: [DONE]\n\n"


def responses(words, calls):
    def sent(kind, **fields):
        return event({"type": f"response.{kind}", **fields}, True)
    number = next(NUMBERS)
    message = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant", "content": []}
    yield sent("created", response={"id": f"resp_{number}"})
    yield sent("output_item.added", output_index=0, item=message)
    text = []
    for word in words:
        text.append(word)
        yield sent("output_text.delta", item_id=message["id"], output_index=0, content_index=0, delta=word)
    message["content"] = [{"type": "output_text", "text": "".join(text), "annotations": []}]
    yield sent("output_item.done", output_index=0, item=message)
    for index, (key, name, arguments) in enumerate(calls, 1):
        yield sent("output_item.done", output_index=index, item={
            "type": "function_call", "id": f"item_{key}", "status": "completed", "call_id": key, "name": name,
            "arguments": json.dumps(arguments)})
    usage = {"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020}
    yield sent("completed", response={"id": f"resp_{number}", "usage": usage})


def gemini(words, calls):
    def chunk(part, **fields):
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
        return {"candidates": [{"index": 0, "content": content, **fields}], "usageMetadata": usage}
    for word in words:
        yield event(chunk({"text": word}))
    for key, name, arguments in calls:
        yield event(chunk({"functionCall": {"id": key, "name": name, "args": arguments}}))
    yield event(chunk({"text": ""}, finishReason="STOP"))


DIALECTS = [("/messages", anthropic), ("/chat/completions", chat), ("/responses", responses),
            (":streamGenerateContent", gemini)]


# ---------------------------------------------------------------- the script

def counted_words(total):
    """Nothing repeats: an agent may end an answer that seems to run in circles."""
    for number in range(total):
        yield f"word{number}\n\n" if number % 60 == 59 else f"word{number} "


def prose(part):
    for number in range(SENTENCES):
        yield f"Sentence {number} of part {part}, with `code` and **weight**, as models write.\n\n"


def answer(body, read):
    """The prompt that a request is about, the words and the calls of its answer."""
    prompt = max(PROMPTS, key=body.rfind)
    if body.rfind(prompt) < 0 or b'"tools":[{' not in body:
        return None, ["Work"], []
    if prompt != LONG:
        deltas = DELTAS if prompt == MANY else STREAM_S * DELTAS_A_SECOND
        return prompt, [BEGIN[prompt] + " ", *counted_words(deltas), "\n\n" + END[prompt]], []
    last = body.rfind(b"Part number ")
    number = int(re.match(rb"\d+", body[last + 12:last + 20])[0]) + 1 if last >= 0 else 0
    if number == STEPS:
        return prompt, [END[prompt]], []
    name, arguments = read
    calls = [(f"call_{file}", name, {key: value.format(file=f"{file}.txt") for key, value in arguments.items()})
             for file in range(number * READS, (number + 1) * READS)]
    return prompt, [f"Part number {number}\n\n", *prose(number)], calls


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    largest = 0

    def do_GET(self):
        """How long the longest request was: whether an agent kept the session that it was given."""
        found = self.path == "/largest"
        text = str(Handler.largest).encode()
        self.head(200 if found else 404, "text/plain", len(text))
        self.wfile.write(text)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.split("?")[0]
        dialect = next((dialect for end, dialect in DIALECTS if path.endswith(end)), None)
        if path.endswith(":generateContent"):          # Gemini CLI's check for loops, which is not streamed
            text = next(gemini(["{}"], []))[len("data: "):]
            self.head(200, "application/json", len(text))
            self.wfile.write(text)
            return
        if dialect is None:
            self.head(404, "text/plain", 0)
            return
        prompt, words, calls = answer(body, self.server.read)
        if prompt == LONG:
            Handler.largest = max(Handler.largest, len(body))
        self.head(200, "text/event-stream")
        events = dialect(words, calls)
        try:
            if prompt == SLOW:
                self.paced(events)
            else:
                self.wfile.write(b"".join(events))
        except ConnectionError:
            pass

    def paced(self, events):
        began = time.monotonic()
        for number, one in enumerate(events):
            self.wfile.write(one)
            time.sleep(max(0, began + (number + 1) / DELTAS_A_SECOND - time.monotonic()))

    def head(self, status, kind, length=None):
        self.send_response(status)
        self.send_header("content-type", kind)
        if length is None:
            self.close_connection = True
            self.send_header("connection", "close")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def log_message(self, *_):
        pass


class Server:
    """A server in a process of its own. `read` is the tool that reads a file, and its arguments."""

    def __init__(self, read):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None      # agents drop connections as they like
        server.read = read
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.pid = os.fork()
        if self.pid == 0:
            server.serve_forever()
        server.server_close()

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
