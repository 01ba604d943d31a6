"""A scripted model server in the Anthropic dialect: precomputed bytes, one thread, loopback.

It serves one program at a time and takes the times itself: from the start of a reply to the last
byte of the next request is a step of the program, and nothing of the server's own is in it but
what it takes to send and receive. Between two steps it looks at the program's peak memory.
"""
import json
import os
import selectors
import socket
import time
from dataclasses import dataclass, field

HEAD = (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
        b"transfer-encoding: chunked\r\n\r\n")
END = b"0\r\n\r\n"
STALL_S = 120            # a program that neither asks nor ends for so long is broken
IDLE_LOOK_S = 0.02       # how often memory is looked at while the program works
LAST_LOOK_S = 0.001      # the same after the last reply, when the end is near


# ---------------------------------------------------------------- replies

def event(name, **fields):
    data = f"event: {name}\ndata: {json.dumps({'type': name, **fields}, separators=(',', ':'))}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def reply(number, block, deltas, stop):
    """A reply of one content block, as a list of chunks."""
    message = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": "mock-model", "content": [],
               "stop_reason": None, "usage": {"input_tokens": 1000, "output_tokens": 1}}
    return ([HEAD + event("message_start", message=message) + event("content_block_start", index=0, content_block=block)]
            + [event("content_block_delta", index=0, delta=delta) for delta in deltas]
            + [event("content_block_stop", index=0)
               + event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 20})
               + event("message_stop") + END])


def text_reply(number, words):
    deltas = [{"type": "text_delta", "text": word} for word in words]
    return reply(number, {"type": "text", "text": ""}, deltas, "end_turn")


def call_reply(number, tool, arguments):
    """A tool call; its chunks go out as one, as they do when the network is faster than the model."""
    whole = json.dumps(arguments)
    pieces = [whole[at:at + 24] for at in range(0, len(whole), 24)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    block = {"type": "tool_use", "id": f"call_{number:04}", "name": tool, "input": {}}
    return [b"".join(reply(number, block, deltas, "tool_use"))]


# ---------------------------------------------------------------- one program

@dataclass
class Served:
    """What was seen of one program from its first request to its end."""
    first_request: float = 0.0                      # time.monotonic() of its first byte
    first_bytes: int = 0                            # length of the first request's body
    gaps_ms: list = field(default_factory=list)     # one per step
    peak_kb: int = 0
    requests: list = field(default_factory=list)    # (bytes kept of the body before, new bytes), if recorded


class Server:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def serve(self, pid, replies, record):
        """Answers the requests of process `pid` in order with `replies` until it ends."""
        served, ended, body = Served(), None, b""
        selector = selectors.DefaultSelector()
        process = os.pidfd_open(pid)
        selector.register(self.listener, selectors.EVENT_READ, "listener")
        selector.register(process, selectors.EVENT_READ, "process")
        connections = []
        todo, heard = iter(replies), time.monotonic()
        left = len(replies)
        try:
            while True:
                ready = selector.select(IDLE_LOOK_S if left else LAST_LOOK_S)
                now = time.monotonic()
                served.peak_kb = max(served.peak_kb, peak_kb(pid))
                if now > heard + STALL_S:
                    raise RuntimeError("the program neither asks nor ends")
                for key, _ in ready:
                    heard = now
                    if key.data == "process":
                        return served
                    if key.data == "listener":
                        connection = self.listener.accept()[0]
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        connection.settimeout(STALL_S)
                        connections.append(connection)
                        selector.register(connection, selectors.EVENT_READ, "connection")
                        continue
                    asked = receive(key.fileobj)
                    arrived = time.monotonic()
                    if asked is None:
                        selector.unregister(key.fileobj)
                        continue
                    path, new = asked
                    if not path.startswith(b"/v1/messages") or not left:
                        key.fileobj.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                        continue
                    if ended is None:
                        served.first_request, served.first_bytes = now, len(new)
                    else:
                        served.gaps_ms.append((arrived - ended) * 1000)
                    served.peak_kb = max(served.peak_kb, peak_kb(pid))
                    if record:
                        kept = common(body, new)
                        served.requests.append((kept, new[kept:]))
                        body = new
                    chunks = next(todo)
                    left -= 1
                    for chunk in chunks[:-1]:
                        key.fileobj.sendall(chunk)
                    ended = time.monotonic()
                    key.fileobj.sendall(chunks[-1])
        finally:
            os.close(process)
            selector.close()
            for connection in connections:
                connection.close()


def receive(connection):
    """One request as (path, body); None when the connection is closed."""
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        piece = connection.recv(1 << 16)
        if not piece:
            return None
        data += piece
    head = bytes(data[:end])
    body = data[end + 4:]
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    length = int(fields.get(b"content-length", b"0"))
    while len(body) < length:
        piece = connection.recv(min(1 << 20, length - len(body)))
        if not piece:
            return None
        body += piece
    return head.split(b" ")[1], bytes(body)


def common(left, right):
    """How many bytes `left` and `right` begin with alike."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def peak_kb(pid):
    """The most memory that the process itself ever held; its children are not in it."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0
