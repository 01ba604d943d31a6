#!/usr/bin/env python3
"""Opens an exported session in a real browser and looks at what became of it.

    python3 docs/screenshots/page.py PROGRAM [PICTURE.png]

The session is hostile: prompt, prose, thoughts, a file's name and what a command prints try to be markup and to run
scripts. Needs Chromium; where there is none, it says so and ends with 77, as a check that was skipped.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

RUN = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
PROSE = f"""# 标题 Heading
**Bold**, `code` and [a link](javascript:alert(1)). {RUN}

- a list 👨‍👩‍👧
  1. in a list

| 名称 | value |
|---|---|
| 汉字 | {RUN} |

```rust
let x = "{RUN}"; // </pre></details>
```

{"long" * 300}
"""
TURNS = [
    {"thinking": RUN, "text": PROSE, "calls": [
        {"name": "write_file", "arguments": {"path": RUN.replace("/", "\\"), "content": f"{RUN}\n"}},
        {"name": "bash", "arguments": {"command": f"printf '%s \\033[2J \\342\\200\\256 \\377' '{RUN.replace(chr(39), '')}'"}}]},
    {"calls": [{"name": "edit_file", "arguments": {"path": "a.txt", "old_text": "one two", "new_text": "one 二"}}]},
    {"text": "The end. 完成。"},
]
# Elements that the browser must have made of it, and how many at least.
EXPECTED = {"h3": 1, "b": 4, "li": 2, "ol": 1, "table": 1, "td": 2, "details": 4, "pre": 5}


def browser():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


def look(page, folder, *arguments):
    done = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser",
                           "--virtual-time-budget=2000", *arguments, f"file://{page}"],
                          capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def export(program, folder):
    work = os.path.join(folder, "work")
    os.mkdir(work)
    with open(os.path.join(work, "a.txt"), "w") as file:
        file.write("one two\n")
    script, page = os.path.join(folder, "script.json"), os.path.join(folder, "page.html")
    with open(script, "w") as file:
        json.dump({"turns": TURNS}, file)
    environment = {"HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    for arguments in [["-p", "--model", f"scripted:{script}", "--allow", "bash", RUN], ["export", "last", "-o", page]]:
        subprocess.run([program, *arguments], cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
    return page


def main():
    if not browser():
        print("skipped: there is no Chromium here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        page = export(os.path.abspath(sys.argv[1]), folder)
        shown = look(page, folder, "--dump-dom")
        title = re.search("<title>(.*?)</title>", shown).group(1)
        found = {tag: len(re.findall(f"<{tag}[ >]", shown)) for tag in [*EXPECTED, "script", "img", "a", "iframe"]}
        print(title, found)
        if not title.startswith("session ") or any(found[tag] for tag in ["script", "img", "a", "iframe"]):
            raise SystemExit("what was text became markup")
        if missing := [tag for tag, least in EXPECTED.items() if found[tag] < least]:
            raise SystemExit(f"not drawn: {missing}")
        if len(sys.argv) > 2:
            look(page, folder, "--hide-scrollbars", "--window-size=1000,2200", f"--screenshot={os.path.abspath(sys.argv[2])}")


if __name__ == "__main__":
    main()
