//! Commands that want all of something. What is limited is looked at, and that tenon goes on.

use super::row::{Call, Row, attack, row, runs, tool};

const AGAIN: Call = Call::Typed("echo again");

pub(super) const ROWS: &[Row] = &[
    row("a long output", &[Call::Script("head -c 30000000 /dev/zero | tr '\\0' 'x'; echo"), AGAIN]).prints(&["again", "left out"]),
    row("an output of many lines", &[Call::Script("yes | head -n 2000000"), AGAIN]).prints(&["again", "left out"]),
    row("an output without end", &[Call::Script("#slow\nyes $MARK"), AGAIN]).prints(&["timed out", "again"]),
    row("outputs without end by many at once", &[Call::Script("#slow\nfor n in 1 2 3 4; do yes $MARK & yes $MARK >&2 & done; wait"), AGAIN]).prints(&["timed out", "again"]),
    row("a job that prints without end", &[
        Call::Job("yes $MARK | head -c 1000000; touch printed; yes $MARK"),
        Call::Script("until [ -e printed ]; do sleep 0.1; done; echo again"),
        Call::Tool("jobs", r#"{"action":"read"}"#),
    ])
    .alone()
    .prints(&["again", "left out"]),
    row("200 jobs", &[Call::Job("sleep 1000"); 200]).alone().prints(&["8 jobs run already"]),
    row("a bomb of forks as a job", &[Call::Job("#slow\nb() { sleep 0.2; b | b & }; b 2>/dev/null; sleep 1000"), AGAIN, Call::Tool("jobs", r#"{"action":"stop","job":1}"#)])
        .prepare("echo 'processes_max = 100' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .prints(&["again"]),
    row("2 GB of output", &[Call::Script("head -c 2000000000 /dev/zero | tr '\\0' 'x'"), AGAIN]).whole().prints(&["again"]),
    row("a long line in a file", &[Call::Tool("read_file", r#"{"path":"@ROW@/f"}"#), Call::Tool("grep", r#"{"pattern":"x$","path":"@ROW@"}"#), AGAIN])
        .prepare("head -c 20000000 /dev/zero | tr '\\0' x > f")
        .prints(&["again"]),
    row("a huge file with holes", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/f"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/f","offset":1000000}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/f","old_text":"a","new_text":"b"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/f","content":"b"}"#),
        AGAIN,
    ])
    .prepare("truncate -s 4G f")
    .prints(&["again"]),
    attack!("a file above the limit", "truncate -s 17G f")
        .prints(&["refused"]),
    row("the private folders full", &[Call::Script("for f in /tmp /var/tmp /dev/shm ~; do dd if=/dev/zero of=$f/f bs=1M count=1400 2>&1; done; rm -f {/tmp,/var/tmp,/dev/shm,~}/f; echo end"), AGAIN])
        .whole()
        .prints(&["No space left", "again"])
        .not_in_b("temporary files lie in a folder on the machine's disk", "lacks")
        .not_in_c("temporary files lie in a folder on the machine's disk", "lacks"),
    row("files without end in /tmp", &[Call::Script("cd /tmp && python3 -c 'for n in range(450000): open(str(n), \"w\")' 2>&1 | tail -1; echo end"), AGAIN])
        .whole()
        .needs(&["python3"])
        .prints(&["No space left", "again"])
        .not_in_b("temporary files lie in a folder on the machine's disk", "lacks")
        .not_in_c("temporary files lie in a folder on the machine's disk", "lacks"),
    row("more room on the disk than there is leave for", &[Call::Script("for n in $(seq 150); do head -c 20000000 /dev/zero > f$n; done; echo BROKEN"), AGAIN])
        .prepare("echo 'disk_bytes_max = 60000000' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .prints(&["ended: the file system of", "disk_bytes_max", "again"])
        .after("rm f*"),
    row("more room on the disk reserved than there is leave for", &[Call::Script("for n in $(seq 9); do fallocate -l 900M f$n; done; echo end"), AGAIN])
        .prepare("echo 'disk_bytes_max = 1000000000' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .needs(&["fallocate"])
        .prints(&["refused to reserve", "quota exceeded", "disk_bytes_max", "again"])
        .after("test $(du -sm . | cut -f1) -lt 3000 && rm f*"),
    row("more memory than there is leave for", &[Call::Script("python3 -c 'import os, time\nx=[]\nfor n in range(90): x.append(os.urandom(1<<10)*(100<<10))\ntime.sleep(60)' ; echo BROKEN"), AGAIN])
        .whole()
        .needs(&["python3"])
        .prints(&["too much memory", "again"]),
    // It goes on until it is ended, by the walls or by the call's time. What others on the machine let go
    // meanwhile hides as much of it from the cheap looks; so it rises again and again.
    row("more memory than there is leave for, in no process", &[Call::Script("python3 -c 'import os, time\nheld = [os.memfd_create(str(n)) for n in range(90)]\nfor file in held: os.posix_fallocate(file, 0, 100 << 20)\nwhile True:\n    os.ftruncate(held[0], 0)\n    time.sleep(1)\n    os.posix_fallocate(held[0], 0, 100 << 20)\n    time.sleep(1)' ; echo BROKEN"), AGAIN])
        .whole()
        .needs(&["python3"])
        .prints(&["too much memory", "again"]),
    row("more memory than there is leave for, in page tables", &[Call::Script("python3 - <<'E'\nimport mmap, time\nheld = []\nfor n in range(24):\n    held.append(mmap.mmap(-1, 16 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))\n    held[-1].madvise(15)\n    for at in range(0, 16 << 30, 2 << 20): held[-1][at]\ntime.sleep(60)\nE\necho BROKEN"), AGAIN])
        .prepare("echo 'memory_bytes_max = 268435456' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .needs(&["python3"])
        .prints(&["too much memory", "again"]),
    row("more memory than there is leave for, in open files", &[Call::Script("python3 - <<'E'\nimport os, time\nfor n in range(20):\n    if os.fork() == 0:\n        try:\n            for n in range(5000): os.pipe()\n        except OSError: pass\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)\nE\necho BROKEN"), AGAIN])
        .prepare("echo 'memory_bytes_max = 134217728' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .needs(&["python3"])
        .prints(&["too much memory", "again"]),
    // In tier A the kernel refuses so many, in tier C any.
    row("more memory than there is leave for, in semaphores", &[Call::Script("python3 - <<'E'\nimport ctypes, time\nlibc = ctypes.CDLL(None)\nfor n in range(200):\n    if libc.semget(0, 32000, 0o600) < 0: break\nelse:\n    time.sleep(60)\n    print('BROKEN')\nE\necho end"), AGAIN])
        .prepare("echo 'memory_bytes_max = 268435456' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .needs(&["python3"])
        .prints(&["again"]),
    // The kernel refuses more, in tier A from 340 on, or the command is ended while it makes more.
    row("more processes than there is leave for", &[Call::Script("python3 - <<'E'\nimport os, time\ntry:\n    for n in range(380):\n        os.posix_spawn('/bin/sleep', ['sleep', '1000'], os.environ)\n        time.sleep(0.005)\n    print('BROKEN')\nexcept OSError:\n    print('too many processes')\nE"), AGAIN])
        .prepare("echo 'processes_max = 40' >> $USERHOME/.config/tenon/config.toml")
        .alone()
        .needs(&["python3"])
        .prints(&["too many processes", "again"]),
    row("a bomb of forks", &[Call::Script("#slow\nb() { sleep 0.2; b | b & }; b 2>/dev/null; sleep 0.5; echo end"), AGAIN]).prints(&["again"]),
    attack!("more open files than there is leave for", "python3 -c 'import os\nfor n in range(70000): os.dup(0)'").needs(&["python3"]),
    runs!("more open files by the machine's limit", "ulimit -n; ulimit -Hn unlimited; ulimit -n 10000000; true"),
    runs!("a script of a megabyte", "head -c 1000000 /dev/zero | tr '\\0' ' ' > s; echo 'echo x' >> s; bash s"),
    row("arguments too long", &[Call::Script("x=$(head -c 3000000 /dev/zero | tr '\\0' x); /bin/echo $x 2>&1 | tail -c 30; echo end"), AGAIN]).prints(&["again"]),
    runs!("a small archive that grows", "head -c 50000000 /dev/zero | gzip > z; zcat z | wc -c; rm z"),
    row("a pattern that takes for ever", &[
        Call::Tool("grep", r#"{"pattern":"(a+)+$","path":"@ROW@"}"#),
        Call::Tool("grep", r#"{"pattern":"(a{1000}){1000}{1000}","path":"@ROW@"}"#),
        Call::Tool("glob", r#"{"pattern":"**/**/**/**/**/**/*a*b*c*d*e*f*g*h*","path":"@ROW@"}"#),
        Call::Tool("glob", r#"{"pattern":"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}"#),
        AGAIN,
    ])
    .prepare("head -c 100000 /dev/zero | tr '\\0' a > f; echo b >> f")
    .prints(&["again"]),
    runs!("folders without end", "mkdir d; cd d; for n in $(seq 300); do mkdir d && cd d; done; ln -s .. up"),
    tool!("folders without end, walked", "glob", r#"{"pattern":"**/x","path":"@ROW@"}"#)
        .prepare("cd .; for n in $(seq 400); do mkdir d && cd d; done; touch x"),
    row("many files", &[Call::Tool("glob", r#"{"pattern":"**","path":"@ROW@"}"#), Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@"}"#), AGAIN])
        .prepare("mkdir d; cd d; seq 5000 | xargs touch")
        .prints(&["again"]),
    row("no time", &[Call::Tool("bash", r#"{"command":"echo one","timeout":0}"#), Call::Tool("bash", r#"{"command":"echo two","timeout":-5}"#), Call::Tool("bash", r#"{"command":"echo three","timeout":1e300}"#), Call::Tool("bash", r#"{"command":"echo four","timeout":"18446744073709551616"}"#), AGAIN])
        .prints(&["one", "again"]),
    row("a replacement that grows", &[
        Call::Tool("edit_file", concat!(r#"{"path":"@ROW@/f","old_text":"a","replace_all":true,"new_text":""#, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", r#""}"#)),
        AGAIN,
    ])
    .prepare("head -c 8000000 /dev/zero | tr '\\0' a > f")
    .alone()
    .prints(&["again"])
    .after("test $(wc -c < f) -lt 100000000"),
    row("connections that say nothing", &[
        Call::Script("python3 - <<'E'\nimport os, socket, time\nfrom urllib.parse import urlsplit\nproxy = urlsplit(os.environ.get('http_proxy', ''))\nheld = []\nfor n in range(300):\n    try: held.append(socket.create_connection((proxy.hostname, proxy.port), 1))\n    except (OSError, TypeError): break\n    held[-1].setblocking(False)\n    try: held[-1].send(b'CONNECT ')\n    except OSError: break\nE\necho end"),
        AGAIN,
    ])
    .needs(&["python3"])
    .prints(&["end", "again"]),
];
