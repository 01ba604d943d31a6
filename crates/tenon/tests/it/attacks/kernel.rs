//! Commands that ask the kernel for more than they have.

use super::row::{Call, Row, attack, row, runs, system_call};

pub(super) const ROWS: &[Row] = &[
    attack!("mount", "mkdir m && mount -t tmpfs none m"),
    attack!("bind mount", "mkdir m && mount --bind / m"),
    attack!("remount", "mount -o remount,rw / || mount -o remount,rw,bind $TOP"),
    attack!(
        "unmount",
        "umount -l /tmp || umount -l /proc || umount -l $HOME || umount -l $WORK/.git"
    ),
    attack!("fuse", "fusermount -u / || fusermount3 -u / || exec 5<>/dev/fuse"),
    attack!("unshare users", "unshare -U true"),
    attack!("unshare mounts", "unshare -m true || unshare -Urm true"),
    attack!("unshare network", "unshare -n true || unshare -Urn true"),
    attack!("unshare processes", "unshare -Urpf true"),
    attack!(
        "enter a namespace",
        "nsenter -t 1 -m true || nsenter -t 1 -U true || nsenter -t $TESTER -m true || nsenter -t $TESTER -n true"
    ),
    attack!("chroot", "chroot / /bin/true || chroot . /bin/true"),
    attack!("pivot_root", "mkdir -p p/old && pivot_root p p/old"),
    attack!("sudo", "sudo -n true").needs(&["sudo"]),
    attack!("su", "su -c true nobody < /dev/null").needs(&["su"]),
    attack!(
        "set-user-id programs",
        "for p in su passwd mount newgrp chsh; do cp $(command -v $p) p-$p 2>/dev/null; done; passwd -d root || chsh -s /bin/true"
    ),
    attack!(
        "a set-user-id program of one's own",
        "cp /bin/bash b; chmod 4777 b; ./b -p -c 'grep -q NoNewPrivs:.0 /proc/self/status'"
    ),
    runs!(
        "programs with the user's rights",
        "umask 0; cp /usr/bin/id a; chmod 4755 a; chmod u+s,g+s a; chmod 2755 a; cp -p $(command -v passwd) b; install -m 6755 a c; mkdir d; chmod 2777 d; cp a d/e; chmod 6711 d/e; cp -a d f; setfacl -m g::rwx a"
    )
    .after("! find . -type f -perm /6000 | grep ."),
    system_call!(
        "call: modes with the set-user-id bit",
        "all(blocked(call(*a)) for m in (0o4755, 0o2755, 0o6711) for a in ((90, b'f', m), (91, os.open('f', os.O_CREAT), m), (268, -100, b'f', m), (452, -100, b'f', m, 0), (452, os.open('f', 0), b'', m, 0x1000), (2, b'a', 0o101, m), (85, b'b', m), (257, -100, b'c', 0o101, m), (2, b'.', 0o20200001, m), (257, -100, b'.', 0o20200001, m), (437, -100, b'e', struct.pack('QQQ', 0o101, m, 0), 24), (133, b'g', 0o100000 | m, 0), (259, -100, b'h', m, 0)))"
    ),
    attack!(
        "capabilities",
        "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | grep -v 0000000000000000"
    ),
    attack!(
        "file capabilities",
        "cp /bin/true t; setcap cap_sys_admin+ep t || python3 -c \"import os; os.setxattr('t','security.capability',b'\\x01\\0\\0\\x02'+b'\\xff'*16)\""
    ),
    attack!(
        "leases",
        "echo a > f; python3 -c \"import fcntl; fcntl.fcntl(open('f'), fcntl.F_SETLEASE, fcntl.F_RDLCK)\""
    )
    .needs(&["python3"]),
    attack!("new privileges", "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    attack!("without filters", "grep -q 'Seccomp:.0' /proc/self/status"),
    attack!(
        "settings of the kernel",
        "echo 1 > /proc/sys/kernel/sysrq || echo x > /proc/sys/kernel/hostname || sysctl -w kernel.sysrq=1"
    ),
    attack!("core pattern", "echo '|/bin/true' > /proc/sys/kernel/core_pattern"),
    attack!(
        "modprobe path",
        "echo /tmp/x > /proc/sys/kernel/modprobe || echo x > /proc/sys/kernel/hotplug"
    ),
    attack!("binary formats", "echo ':x:M::x::/bin/true:' > /proc/sys/fs/binfmt_misc/register"),
    attack!("sysrq", "echo b > /proc/sysrq-trigger"),
    attack!("power", "echo mem > /sys/power/state || reboot -f || shutdown now"),
    attack!("sysfs", "echo 1 > /sys/kernel/mm/ksm/run || echo x > /sys/kernel/uevent_helper"),
    attack!(
        "devices of the machine",
        "chmod 666 /dev/null || chmod 666 /dev/full || chown +0 /dev/zero || python3 -c 'import os; os.fchmod(0, 0o666)' || python3 -c 'import os; os.utime(0, (1, os.fstat(0).st_mtime))' || ! cat /dev/null > /dev/null"
    )
    .needs(&["python3"]),
    attack!("modules", "modprobe dummy || insmod /dev/null || rmmod dummy").needs(&["modprobe"]),
    attack!(
        "control groups",
        "mkdir /sys/fs/cgroup/new-$MARK || echo $$ > /sys/fs/cgroup/cgroup.procs || echo x > /sys/fs/cgroup/release_agent"
    ),
    attack!(
        "security modules",
        "ls /sys/kernel/security/* && echo x > /sys/kernel/security/apparmor/.remove"
    ),
    attack!(
        "tracing",
        "echo 1 > /sys/kernel/tracing/tracing_on || ls /sys/kernel/debug/tracing/events"
    ),
    attack!(
        "disks",
        "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/nvme0n1 || head -c 1 /dev/dm-0 || head -c 1 /dev/loop0"
    ),
    attack!(
        "memory of the machine",
        "head -c 1 /dev/mem || head -c 1 /dev/port || head -c 1 /dev/kmsg || head -c 1 /proc/kcore"
    ),
    attack!(
        "virtual machines and inputs",
        "exec 5<>/dev/kvm || exec 5</dev/input/event0 || exec 5<>/dev/uinput || exec 5<>/dev/net/tun || exec 5<>/dev/vhost-net"
    ),
    attack!("a block device of one's own", "mknod b b 259 0 || mknod b b 8 0 || mknod b b 254 0"),
    attack!("a character device of one's own", "mknod c c 1 1 || mknod c c 1 5"),
    attack!("loop devices", "truncate -s 1M i; losetup -f i"),
    attack!("swap", "truncate -s 1M i; mkswap i; swapon i"),
    attack!("clock and name", "date -s 2000-01-01 || hostname evil-$MARK"),
    attack!("priority", "chrt -f 1 true || renice -n -5 $$"),
    attack!("limits", "ulimit -H -c unlimited && test \"$(ulimit -Hc)\" = unlimited"),
    attack!(
        "trace tenon",
        "strace -p $TESTER -o /dev/null -e none & sleep 0.1; kill $! && wait $!"
    )
    .needs(&["strace"]),
    attack!("gdb", "gdb -p $TESTER -batch -ex 'info proc' 2>&1 | grep -E '^(process|exe)'")
        .needs(&["gdb"]),
    attack!("signals to others", "kill -0 $TESTER || kill -CONT $TESTER"),
    attack!("the end of the first process", "kill -9 1 && sleep 0.05 && ! kill -0 1"),
    attack!("out of memory before others", "echo -1000 > /proc/self/oom_score_adj"),
    system_call!(
        "call: ptrace",
        "blocked(call(101, 16, os.getppid(), 0, 0)) and blocked(call(101, 0, 0, 0, 0))"
    ),
    system_call!(
        "call: process_vm_readv and writev",
        "blocked(call(310, os.getppid(), 0, 0, 0, 0, 0)) and blocked(call(311, os.getppid(), 0, 0, 0, 0, 0))"
    ),
    system_call!("call: pidfd_getfd", "blocked(call(438, 0, 0, 0))"),
    system_call!("call: bpf", "blocked(call(321, 0, 0, 0))"),
    system_call!("call: perf_event_open", "blocked(call(298, 0, 0, -1, -1, 0))"),
    system_call!("call: io_uring_setup", "blocked(call(425, 1, 0))"),
    system_call!("call: io_setup", "blocked(call(206, 1, b'\\0' * 8))"),
    system_call!("call: userfaultfd", "blocked(call(323, 0))"),
    system_call!(
        "call: keyctl, add_key, request_key",
        "blocked(call(250, 0, -3, 1)) and blocked(call(248, b'user', b'x', b'y', 1, -3)) and blocked(call(249, b'user', b'x', 0, -3))"
    ),
    system_call!(
        "call: kexec_load and kexec_file_load",
        "blocked(call(246, 0, 0, 0, 0)) and blocked(call(320, -1, -1, 0, 0, 0))"
    ),
    system_call!(
        "call: init_module and finit_module",
        "blocked(call(175, 0, 0, b'')) and blocked(call(313, -1, b'', 0))"
    ),
    system_call!(
        "call: clone with namespaces",
        "blocked(call(56, 0x10000011, 0, 0, 0, 0)) and blocked(call(56, 0x00020011, 0, 0, 0, 0))"
    ),
    system_call!("call: clone3", "blocked(call(435, 0, 0))"),
    system_call!("call: setns", "blocked(call(308, os.open('/proc/self/ns/net', os.O_RDONLY), 0))"),
    system_call!(
        "call: the mount family",
        "all(blocked(call(n, 0, 0, 0, 0, 0)) for n in (165, 166, 155, 428, 429, 430, 431, 432, 433, 442))"
    ),
    system_call!("call: open_by_handle_at", "blocked(call(304, -100, 0, 0))"),
    system_call!("call: a second listener of filters", "blocked(call(317, 1, 8, 0))"),
    system_call!("call: fanotify", "blocked(call(300, 0, 0))"),
    system_call!("call: mknodat of a device", "blocked(call(259, -100, b'd', 0o60600, 0x10300))"),
    system_call!(
        "call: x32 numbers",
        "all(blocked(call(0x40000000 + n, 0, 0, 0)) for n in (0, 2, 39, 101, 520))"
    ),
    system_call!(
        "call: acct, swapon, reboot, iopl, ioperm",
        "all(blocked(call(n, 0, 0, 0)) for n in (163, 167, 169, 172, 173))"
    ),
    system_call!(
        "call: terminal input",
        "closed(lambda: __import__('fcntl').ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x'))"
    ),
    system_call!(
        "call: a line discipline",
        "closed(lambda: __import__('fcntl').ioctl(os.openpty()[1], 0x5423, b'\\x15\\0\\0\\0'))"
    ),
    attack!("what file systems can be asked through a descriptor for reading", "python3 - <<'E'\nimport fcntl, os\nf = os.open(os.environ['TOP'] + '/folder/file', os.O_RDONLY)\nw = os.open('.', os.O_RDONLY)\ndone = 0\nfor where, asked in ((f, 0x40086604), (f, 0x6609), (w, 0xc0406618), (w, 0xc0406619), (w, 0xc0506617), (w, 0x5000940e), (w, 0x4008941a), (w, 0xf501), (w, 0x4004bc10)):\n    try: fcntl.ioctl(where, asked, bytearray(4096)); done += 1\n    except OSError as e: done += e.errno != 25\nraise SystemExit(not done)\nE").needs(&["python3"]),
    row("holes in a file that is opened for appending", &[Call::Script(
        "python3 - <<'E'\nimport fcntl, os, struct\nf = os.open('diary', os.O_WRONLY | os.O_APPEND)\nfor asked in (0x40305829, 0x4030582b):\n    try: fcntl.ioctl(f, asked, struct.pack('hhqqiI4i', 0, 0, 0, 8192, 0, 0, 0, 0, 0, 0)); print('BROKEN')\n    except OSError: pass\nE\necho end",
    )])
    .prepare("yes diary | head -c 16384 > diary; cp diary kept")
    .prints(&["end"])
    .after("cmp diary kept")
    .needs(&["python3"]),
    attack!("limits of others", "prlimit --pid $TESTER --msgqueue=819200:819200").needs(&["prlimit"]),
    attack!("scheduling of others", "chrt -o -p 0 $TESTER").needs(&["chrt"]),
    attack!("priority of others", "renice -n 0 -p $TESTER || ionice -c 2 -n 4 -p $TESTER")
        .needs(&["renice", "ionice"]),
    attack!(
        "priority and processors of the first process",
        "renice -n 1 -p 1 || renice -n 1 -g 1 || renice -n 1 -u $(id -u) || ionice -c 3 -p 1 || ionice -c 3 -P 1 || taskset -pc 0 1"
    )
    .needs(&["renice", "ionice", "taskset"]),
    attack!(
        "in the group of the first process",
        "python3 -c 'import os; os.setpgid(0, 1); os.setpriority(os.PRIO_PGRP, 0, 1)'"
    )
    .needs(&["python3"]),
    attack!(
        "what can be set of others",
        "echo 0 > /proc/$TESTER/oom_score_adj || echo x > /proc/$TESTER/comm || echo 0 > /proc/$TESTER/coredump_filter || echo 50000 > /proc/$TESTER/timerslack_ns || echo 1 > /proc/$TESTER/clear_refs || echo 0 > /proc/$TESTER/autogroup"
    ),
    row("memory, queues and locks that outlive everybody", &[Call::Script(
        "python3 - <<'E'\nimport ctypes, os\nlibc = ctypes.CDLL(None)\nkey = int(os.environ['TESTER']) + 0x5ec00000\nfor number, more in ((29, (4096, 0o1600)), (64, (1, 0o1600)), (68, (0o1600,))): libc.syscall(number, key, *more)\nlibc.syscall(240, b'new-' + os.environ['MARK'].encode(), 0o102, 0o600, 0)\nE\necho end",
    )])
    .prints(&["end"])
    .after("! ipcs -m -q -s | grep -i $(printf %x $((TESTER + 0x5ec00000)))")
    .needs(&["python3", "ipcs"]),
    row("memory, queues and locks of others", &[Call::Script(
        "python3 - $(cat ids) <<'E'\nimport ctypes, sys\nlibc, (memory, lock, queue) = ctypes.CDLL(None), map(int, sys.argv[1:])\nlibc.shmat.restype = ctypes.c_void_p\nplace = libc.shmat(memory, None, 0)\nif place not in (None, 2**64 - 1): print('BROKEN', ctypes.string_at(place, 6)); ctypes.memmove(place, b'BROKEN', 6)\ntaken = ctypes.create_string_buffer(64)\nif libc.msgrcv(queue, taken, 50, 0, 0o4000) >= 0: print('BROKEN', taken.raw[8:14])\nlibc.msgsnd(queue, taken, 1, 0o4000)\nlibc.semctl(lock, 0, 16, ctypes.c_int(0))\nlibc.semop(lock, b'\\0\\0\\1\\0\\0\\0', 1)\nlibc.semtimedop(lock, b'\\0\\0\\1\\0\\0\\0', 1, None)\nfor call, it in ((libc.shmctl, memory), (libc.msgctl, queue)): call(it, 0, None)\nlibc.semctl(lock, 0, 0)\nctypes.CDLL('librt.so.1').mq_unlink(b'/held-' + open('name').read().encode())\nE\necho end",
    )])
    .prepare("python3 - <<'E'\nimport ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\nmemory, lock, queue = libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666)\nctypes.memmove(libc.shmat(memory, None, 0), b'PERSON', 6)\nlibc.semctl(lock, 0, 16, ctypes.c_int(5))\nlibc.msgsnd(queue, ctypes.create_string_buffer(b'\\1' + 7 * b'\\0' + b'PERSON'), 6, 0)\nname = os.environ['MARK']\nctypes.CDLL('librt.so.1').mq_open(b'/held-' + name.encode(), 0o102, 0o600, None)\nopen('name', 'w').write(name)\nopen('ids', 'w').write(f'{memory} {lock} {queue}')\nE")
    .prints(&["end"])
    .after("python3 - $(cat ids) <<'E'\nimport ctypes, os, sys\nlibc, (memory, lock, queue) = ctypes.CDLL(None), map(int, sys.argv[1:])\nlibc.shmat.restype = ctypes.c_void_p\nplace, taken = libc.shmat(memory, None, 0), ctypes.create_string_buffer(64)\nheld = place not in (None, 2**64 - 1) and ctypes.string_at(place, 6) == b'PERSON'\nheld &= libc.semctl(lock, 0, 12) == 5\nheld &= libc.msgrcv(queue, taken, 50, 0, 0o4000) == 6 and taken.raw[8:14] == b'PERSON'\nheld &= ctypes.CDLL('librt.so.1').mq_unlink(b'/held-' + os.environ['MARK'].encode()) == 0\nlibc.shmctl(memory, 0, None)\nlibc.msgctl(queue, 0, None)\nlibc.semctl(lock, 0, 0)\nsys.exit(not held)\nE")
    .needs(&["python3"]),
    attack!("a queue of POSIX", "python3 -c 'import ctypes, sys\nqueues = ctypes.CDLL(\"librt.so.1\")\nis_refused = queues.mq_open(b\"/new-queue\", 0o102, 0o600, None) < 0\nqueues.mq_unlink(b\"/new-queue\")\nsys.exit(is_refused)'")
        .needs(&["python3"]),
    attack!("addresses of the kernel", "grep -qv '^0* ' /proc/kallsyms"),
    system_call!(
        "call: messages, clock, terminals",
        "blocked(call(103, 3, 0, 0)) and blocked(call(227, 0, b'\\0' * 16)) and blocked(call(159, b'\\1' + b'\\0' * 300)) and blocked(call(153)) and blocked(call(305, 0, b'\\1' + b'\\0' * 300))"
    ),
    system_call!(
        "call: names of the machine and quotas",
        "blocked(call(170, b'evil', 4)) and blocked(call(171, b'evil', 4)) and blocked(call(179, 0x80000200, 0, 0, 0)) and blocked(call(443, 0, 0, 0, 0))"
    ),
];
