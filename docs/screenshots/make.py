#!/usr/bin/env python3
"""Makes the pictures in README: sessions of the real program, typed in tmux, drawn as SVG.

    python3 docs/screenshots/make.py PROGRAM

The model is a script (sessions.json beside this file), because a picture must not change with a model's mood; the calls
run, in a folder made for it. Needs tmux and nothing else.
"""
import html
import json
import os
import subprocess
import sys
import tempfile
import time
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS, ROWS = 92, 200      # higher than any session, so that nothing scrolls away
CELL, LINE, SIZE, EDGE = 8.43, 18, 14, 16
BACKGROUND, FOREGROUND = "#14161b", "#d5d9e0"
FONT = ("ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', 'Noto Sans CJK SC', "
        "'PingFang SC', 'Microsoft YaHei', monospace")
PALETTE = ["#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
           "#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff"]


# ---------------------------------------------------------------- the session

class Screen:
    """A terminal in which the program runs."""

    def __init__(self, program, session, folder):
        self.socket = os.path.join(folder, "tmux")
        work = os.path.join(folder, session["folder"])
        os.makedirs(work)
        for name, text in session["files"].items():
            with open(os.path.join(work, name), "w") as file:
                file.write(text)
        script = os.path.join(folder, "script.json")
        with open(script, "w") as file:
            json.dump({"turns": session["turns"]}, file)
        config = os.path.join(folder, ".config/tenon")
        os.makedirs(config)
        with open(os.path.join(config, "config.toml"), "w") as file:
            file.write(f'theme = "dark"\nverify = {json.dumps(session["verify"])}\n')
        start = os.path.join(folder, "start")
        with open(start, "w") as file:
            file.write(f"#!/bin/sh\ncd '{work}' && exec '{program}' --model 'scripted:{script}'\n")
        environment = {"HOME": folder, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                       "LC_MESSAGES": session["locale"]}
        self.environment = environment
        self.run("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-e", "COLORTERM=truecolor", f"sh '{start}'")

    def run(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *arguments], env=self.environment,
                              capture_output=True, text=True, check=True)
        return done.stdout

    def text(self):
        return self.run("capture-pane", "-p")

    def wait_for(self, words, times=1):
        for _ in range(600):
            if self.text().count(words) >= times:
                return
            time.sleep(0.05)
        raise SystemExit(f"no {words!r} on\n{self.text()}")

    def type(self, text):
        self.run("send-keys", "-l", "--", text)

    def painted(self):
        """The rows with their colours, without the empty ones below."""
        rows = self.run("capture-pane", "-p", "-e").split("\n")
        texts = self.text().split("\n")
        end = max(place for place, text in enumerate(texts) if text.strip()) + 1
        return rows[:end]

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


def record(program, session):
    with tempfile.TemporaryDirectory() as folder:
        screen = Screen(program, session, folder)
        try:
            screen.wait_for("scripted", 2)
            for step in session["steps"]:
                if "type" in step:
                    screen.type(step["type"])
                if "press" in step:
                    screen.run("send-keys", step["press"])
                if "wait_for" in step:
                    screen.wait_for(step["wait_for"], step.get("times", 1))
            time.sleep(0.5)
            rows = screen.painted()
        finally:
            screen.end()
    # The folder's name is another one each time.
    return [row.replace(folder, "~") for row in rows]


# ---------------------------------------------------------------- the picture

def colour(number):
    """A colour of xterm's 256."""
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    steps = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{steps[number // unit % 6]:02x}" for unit in (36, 6, 1))


def select(look, codes):
    """Takes in Select Graphic Rendition."""
    codes = [int(code or 0) for code in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            look.clear()
        elif code in (38, 48):
            kind = codes.pop(0)
            value = colour(codes.pop(0)) if kind == 5 else "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
            look["front" if code == 38 else "back"] = value
        elif 30 <= code <= 37 or 90 <= code <= 97:
            look["front"] = colour(code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47:
            look["back"] = colour(code - 40)
        elif code in (39, 49):
            look.pop("front" if code == 39 else "back", None)
        elif code in (1, 2, 3, 4, 7, 9):
            look[{1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "turned", 9: "struck"}[code]] = True
        elif code == 22:
            look.pop("bold", None), look.pop("dim", None)
        elif code in (23, 24, 27, 29):
            look.pop({23: "italic", 24: "under", 27: "turned", 29: "struck"}[code], None)


def width(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(row, look):
    """Cuts a row into (column, text, columns, look): of one look, and of characters of one width."""
    column, place, found = 0, 0, []
    while place < len(row):
        if row.startswith("\x1b[", place):
            end = row.index("m", place)
            select(look, row[place + 2:end])
            place = end + 1
            continue
        wide = width(row[place])
        # Blanks between words belong to what stands before them, so that lines have few pieces.
        if found and found[-1][3] == look and found[-1][4] == wide:
            found[-1][1] += row[place]
            found[-1][2] += wide
        else:
            found.append([column, row[place], wide, dict(look), wide])
        column += wide
        place += 1
    return [run[:4] for run in found]


def draw_run(column, text, columns, look, line):
    front, back = look.get("front", FOREGROUND), look.get("back")
    if look.get("turned"):
        front, back = back or BACKGROUND, front
    x, y = EDGE + column * CELL, EDGE + line * LINE
    drawn = ""
    if back:
        drawn += f'<rect x="{x:.1f}" y="{y:.1f}" width="{columns * CELL:.1f}" height="{LINE}" fill="{back}"/>'
    if not text.strip():
        return drawn
    blanks = len(text) - len(text.lstrip(" "))
    text, columns, x = text.strip(" "), columns - (len(text) - len(text.strip(" "))), x + blanks * CELL
    # A Chinese character is as wide as it is high: this makes it two cells wide where textLength is not known.
    large = f"{2 * CELL:.1f}" if any(width(character) == 2 for character in text) else ""
    style = "".join(f' {name}="{value}"' for name, value in [
        ("font-size", large),
        ("fill", front if front != FOREGROUND else ""), ("font-weight", "bold" if look.get("bold") else ""),
        ("font-style", "italic" if look.get("italic") else ""), ("opacity", "0.6" if look.get("dim") else ""),
        ("text-decoration", "underline" if look.get("under") else "line-through" if look.get("struck") else "")] if value)
    return (drawn + f'<text x="{x:.1f}" y="{y + SIZE:.1f}" textLength="{columns * CELL:.1f}"{style}>'
            f"{html.escape(text, quote=False)}</text>")


def picture(rows, title):
    look, lines = {}, []
    for line, row in enumerate(rows):
        lines += [draw_run(*run, line) for run in runs(row, look)]
    wide, high = round(COLUMNS * CELL + 2 * EDGE), len(rows) * LINE + 2 * EDGE
    body = "\n".join(line for line in lines if line)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
            f'role="img">\n<title>{html.escape(title)}</title>\n'
            f'<rect width="{wide}" height="{high}" rx="8" fill="{BACKGROUND}"/>\n'
            f'<g font-family="{FONT}" font-size="{SIZE}" fill="{FOREGROUND}" xml:space="preserve">\n{body}\n</g>\n</svg>\n')


def main():
    program = os.path.abspath(sys.argv[1])
    with open(os.path.join(HERE, "sessions.json")) as file:
        sessions = json.load(file)
    for name, session in sessions.items():
        path = os.path.join(HERE, f"{name}.svg")
        with open(path, "w") as file:
            file.write(picture(record(program, session), session["title"]))
        print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
