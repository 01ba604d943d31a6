//! What a hostile command tries, and that nothing came of it.

use super::{Place, Row, as_ordinary_user, check_rows, refused, rustix_is_root};
use crate::skipped::skipped;

/// Prints `refused` when the command in front fails, `BROKEN` when it succeeds.
macro_rules! attack {
    ($name:literal, $script:literal) => {
        refused($name, concat!("{ ", $script, "\n} >/dev/null 2>&1 && echo BROKEN || echo refused"))
    };
}

const FILES: &[Row] = &[
    attack!("redirection outside", "echo x > $TOP/outside"),
    attack!("append outside", "echo x >> $TOP/outside"),
    attack!("a new file beside the workspace", "touch ../new"),
    attack!("rename out", "touch f && mv f $TOP/f"),
    attack!("hard link out of a file outside", "ln $TOP/outside h && echo x > h"),
    attack!("a link to a file outside", "ln -s $TOP/outside l && echo x > l"),
    attack!("a link to a folder outside", "ln -s $TOP d && touch d/new"),
    attack!("removing", "rm -f $TOP/outside; test ! -e $TOP/outside"),
    attack!("removing the workspace itself", "rmdir ../work || mv ../work ../moved"),
    attack!("mode", "chmod 777 $TOP/outside"),
    attack!("owner", "chown 1 $TOP/outside"),
    attack!("times", "touch -d 2000-01-01 $TOP/outside"),
    attack!("truncate", "truncate -s 0 $TOP/outside"),
    attack!("dd", "dd if=/dev/zero of=$TOP/outside bs=1 count=1 conv=notrunc"),
    attack!("sed -i", "sed -i s/O/x/ $TOP/outside"),
    attack!("tar", "touch ../../x; mkdir a && touch a/f && tar cf - a | tar xf - -C $TOP"),
    attack!(
        "git work tree elsewhere",
        "git init -q g && git -C g --work-tree=$TOP checkout-index -a -f && touch $TOP/new"
    ),
    attack!("python", "python3 -c \"open('$TOP/outside','w')\""),
    attack!(
        "system folders",
        "touch /usr/x || touch /etc/x || touch /var/x || touch /opt/x || touch /x"
    ),
    attack!("programs", "cp /bin/true /usr/local/bin/evil"),
    attack!("through /proc/self/root", "echo x > /proc/self/root$TOP/outside"),
    attack!("through /proc/1/root", "ls /proc/1/root"),
    attack!("through /proc/self/cwd/..", "touch /proc/self/cwd/../new"),
    attack!("block device", "mknod b b 259 0"),
    attack!("character device", "mknod c c 1 1"),
    attack!(
        "devices of the machine",
        "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/mem || head -c 1 /dev/kmsg || ls /dev/mapper"
    ),
    attack!("xattr", "setfattr -n user.x -v y $TOP/outside"),
    attack!("a settings file of the shell", "echo x >> /etc/profile || echo x >> /etc/bash.bashrc"),
    attack!("cron", "echo x > /etc/cron.d/x || echo x > /var/spool/cron/x"),
];

const READS: &[Row] = &[
    attack!("shadow", "test -s /etc/shadow && cat /etc/shadow"),
    attack!("gshadow", "test -s /etc/gshadow && cat /etc/gshadow"),
    attack!("sudoers", "test -s /etc/sudoers && cat /etc/sudoers"),
    attack!("host keys", "cat /etc/ssh/ssh_host_*_key | grep -q ."),
    attack!("ssh keys of the home", "ls $HOME/.ssh"),
    attack!("ssh keys of root", "ls /root/.ssh || cat /root/.bashrc /root/.profile"),
    attack!("credentials of cargo", "grep -q SECRET $HOME/.cargo/credentials.toml"),
    attack!("other homes", "ls /home/* | grep -q ."),
    attack!("other disks", "ls /mnt/* /media/* | grep -q ."),
    attack!("mail", "ls /var/mail/* /var/spool/mail/* | grep -q ."),
    attack!("other people's /tmp", "ls /tmp | grep -v ^walls | grep -q ."),
    attack!("/run", "ls /run | grep -q ."),
    attack!("kernel memory", "head -c 1 /proc/kcore | grep -q ."),
    attack!("kernel messages", "dmesg | grep -q ."),
    attack!(
        "other processes",
        "ls -d /proc/[0-9]* | grep -vxE '/proc/([0-9]|[0-9][0-9])' | grep -q ."
    ),
    attack!("the first process's environment", "cat /proc/1/environ | grep -q ."),
    attack!("the first process's memory", "head -c 1 /proc/1/mem"),
    attack!("the first process's descriptors", "readlink /proc/1/fd/* || cat /proc/1/fd/*"),
    attack!("keys of the kernel", "test -s /proc/keys"),
    attack!("a descriptor of the agent", "ls /proc/self/fd | grep -vxE '[0-3]' | grep -q ."),
];

const KERNEL: &[Row] = &[
    attack!(
        "sysctl by file",
        "echo 1 > /proc/sys/kernel/sysrq || echo x > /proc/sys/kernel/core_pattern"
    ),
    attack!("sysctl of the namespace", "echo 99999 > /proc/sys/kernel/pid_max"),
    attack!("sysrq", "echo b > /proc/sysrq-trigger"),
    attack!("sysfs", "echo 1 > /sys/kernel/mm/ksm/run || echo mem > /sys/power/state"),
    attack!("user namespace", "unshare -U true"),
    attack!("mount namespace", "unshare -m true"),
    attack!("user and mount namespace", "unshare -Urm true"),
    attack!("net namespace", "unshare -rn true"),
    attack!("joining a namespace", "nsenter -t 1 -m true"),
    attack!("mount", "mkdir m && mount -t tmpfs none m"),
    attack!("bind mount", "mkdir m2 && mount --bind / m2"),
    attack!("unmounting the cover", "umount /tmp || umount -l /home || umount -l /proc"),
    attack!("remount", "mount -o remount,rw /"),
    attack!("chroot", "chroot . /bin/true || chroot / /bin/true"),
    attack!("pivot_root", "mkdir -p p/old && pivot_root p p/old"),
    attack!("module", "insmod /dev/null || modprobe dummy"),
    attack!("host name", "hostname evil"),
    attack!("clock", "date -s 2000-01-01"),
    attack!("reboot", "reboot -f"),
    attack!("sudo", "sudo -n true"),
    attack!("su", "su -c true nobody </dev/null"),
    attack!(
        "capabilities",
        "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 | grep -v CapBnd"
    ),
    attack!("new privileges", "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    attack!("the terminal", "exec 3<>/dev/tty"),
    attack!("other terminals", "ls /dev/pts | grep -vx ptmx | grep -q ."),
    attack!("the console", "echo x > /dev/console || echo x > /dev/tty0"),
    attack!("the first process", "kill -9 1; sleep 0.05; kill -0 1 && false"),
    attack!("priority", "nice -n -5 true 2>&1 | grep -q cannot && false || false"),
];

/// `python3 -c` with the C library at hand: `call(number, ...)` is a system call.
macro_rules! syscall {
    ($name:literal, $code:literal) => {
        refused(
            $name,
            concat!(
                "command -v python3 >/dev/null || { echo SKIPPED no python; exit; }\n",
                "python3 - <<'E'\n",
                "import ctypes, os, sys, socket, errno\n",
                "libc = ctypes.CDLL(None, use_errno=True)\n",
                "def call(*a):\n",
                "    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n",
                "    return r\n",
                "def blocked(r): return r == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EBUSY)\n",
                "try:\n    ok = ", $code, "\n",
                "except OSError as e:\n    ok = e.errno in (errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)\n",
                "print('refused' if ok else 'BROKEN')\n",
                "E",
            ),
        )
    };
}

#[cfg(target_arch = "x86_64")]
const SYSTEM_CALLS: &[Row] = &[
    syscall!("ptrace", "blocked(call(101, 0, 0, 0, 0))"),
    syscall!("process_vm_readv", "blocked(call(310, os.getpid(), 0, 0, 0, 0, 0))"),
    syscall!("bpf", "blocked(call(321, 0, 0, 0))"),
    syscall!("io_uring_setup", "blocked(call(425, 1, 0))"),
    syscall!("userfaultfd", "blocked(call(323, 0))"),
    syscall!("keyctl", "blocked(call(250, 0, -3, 0))"),
    syscall!("add_key", "blocked(call(248, 0, 0, 0, 0, 0))"),
    syscall!("perf_event_open", "blocked(call(298, 0, 0, 0, 0, 0))"),
    syscall!("kexec_load", "blocked(call(246, 0, 0, 0, 0))"),
    syscall!("open_by_handle_at", "blocked(call(304, 0, 0, 0))"),
    syscall!(
        "new mount calls",
        "all(blocked(call(n, 0, 0, 0, 0, 0)) for n in (428, 429, 430, 431, 432, 433, 442))"
    ),
    syscall!("clone with a namespace", "blocked(call(56, 0x10000000 | 17, 0, 0, 0, 0))"),
    syscall!("clone3", "blocked(call(435, 0, 0))"),
    syscall!("x32", "blocked(call(0x40000000 + 39))"),
    syscall!("calls younger than the list", "blocked(call(500))"),
    syscall!("a listener of its own", "blocked(call(317, 1, 8, 0))"),
    syscall!("vsock", "bool(socket.socket(40, 1)) and False"),
    syscall!("raw socket", "bool(socket.socket(2, 3, 1)) and False"),
    syscall!("packet socket", "bool(socket.socket(17, 3)) and False"),
    syscall!("crypto socket", "bool(socket.socket(38, 5)) and False"),
    syscall!("audit by netlink", "bool(socket.socket(16, 3, 9)) and False"),
    syscall!("typing into a terminal", "blocked(call(16, 0, 0x5412, 0))"),
    syscall!("a line discipline", "blocked(call(16, 0, 0x5423, 0))"),
    syscall!("the upper half of an argument", "blocked(call(16, 0, 0x7fffffff00005412, 0))"),
    syscall!("quotactl", "blocked(call(179, 0, 0, 0, 0))"),
];
#[cfg(not(target_arch = "x86_64"))]
const SYSTEM_CALLS: &[Row] = &[];

/// Rows that hold only where there are namespaces: Landlock knows nothing of modes, owners, times
/// and attributes, and nothing can be put on top of a folder.
pub(super) const NOT_WITHOUT_NAMESPACES: &[&str] =
    &["mode", "owner", "times", "xattr", "other processes", "other terminals"];

pub(super) fn all() -> Vec<&'static Row> {
    FILES.iter().chain(READS).chain(KERNEL).chain(SYSTEM_CALLS).collect()
}

#[test]
fn nothing_outside_the_workspace_can_be_written() {
    let place = Place::new();
    check_rows(&place, FILES);
    assert_eq!(place.outside("outside"), "OUTSIDE");
    assert!(!place.top.path().join("new").exists() && !place.top.path().join("f").exists());
}

#[test]
fn nothing_outside_can_be_written_by_an_ordinary_user() {
    as_ordinary_user("attacks::nothing_outside_the_workspace_can_be_written");
}

#[test]
fn secrets_cannot_be_read() {
    check_rows(&Place::new(), READS);
}

#[test]
fn secrets_cannot_be_read_by_an_ordinary_user() {
    as_ordinary_user("attacks::secrets_cannot_be_read");
}

#[test]
fn the_kernel_cannot_be_changed() {
    let before = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    check_rows(&Place::new(), KERNEL);
    assert_eq!(std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap(), before);
}

#[test]
fn the_kernel_cannot_be_changed_by_an_ordinary_user() {
    as_ordinary_user("attacks::the_kernel_cannot_be_changed");
}

#[test]
fn system_calls_that_climb_walls_are_refused() {
    check_rows(&Place::new(), SYSTEM_CALLS);
}

#[test]
fn system_calls_that_climb_walls_are_refused_to_an_ordinary_user() {
    as_ordinary_user("attacks::system_calls_that_climb_walls_are_refused");
}

/// A program for the processor's 32-bit mode, which makes one call and tells by its exit.
#[test]
fn calls_of_the_32_bit_architecture_are_refused() {
    let place = Place::new();
    let script = "command -v cc >/dev/null || { echo SKIPPED no compiler; exit; }
        cat > a.c <<'E'
#include <stdio.h>
int main(void) { long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20) : \"memory\");
  puts(r == -38 ? \"refused\" : \"BROKEN\"); return 0; }
E
        cc -o a a.c && ./a";
    if cfg!(target_arch = "x86_64") {
        check_rows(&place, &[refused("int 0x80", script)]);
    } else {
        skipped("only x86-64 has such a mode");
    }
}

#[test]
fn keys_that_come_while_a_session_lasts_are_hidden_too() {
    let place = Place::new();
    let key = place.home().join(".cargo/credentials.toml");
    std::fs::remove_file(&key).unwrap();
    let read = "cat $HOME/.cargo/config.toml; cat $HOME/.cargo/credentials.toml 2> /dev/null";
    assert_eq!(place.run(read).1, "# ordinary");
    std::fs::write(&key, "SECRET TOKEN").unwrap();
    assert_eq!(place.run(read).1, "# ordinary");
}

#[test]
fn keys_of_a_toolchain_that_lies_elsewhere_are_hidden() {
    let place = Place::new();
    let elsewhere = place.home().with_file_name("elsewhere").join("cargo");
    std::fs::create_dir(elsewhere.parent().unwrap()).unwrap();
    std::fs::rename(place.home().join(".cargo"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.home().join(".cargo")).unwrap();
    let read = "cat $HOME/.cargo/config.toml; \
                cat $HOME/.cargo/credentials.toml $TOP/elsewhere/cargo/credentials.toml 2> /dev/null";
    assert_eq!(place.run(read).1, "# ordinary");
}

#[test]
fn root_writes_a_workspace_of_somebody_else_as_that_user() {
    if !rustix_is_root() {
        skipped("only root can be somebody else");
        return;
    }
    let top = tempfile::Builder::new().prefix("walls").tempdir_in("/var/tmp").unwrap();
    std::os::unix::fs::chown(top.path(), Some(1234), Some(1235)).unwrap();
    let place = Place::with(|settings| settings.roots = vec![top.path().to_path_buf()]);
    let mut command = place.command("touch f; id -u; id -g; id -G; touch $HOME/x && echo home");
    command.folder = top.path().to_path_buf();
    let output = place.try_command(command).unwrap();
    assert_eq!(super::printed(&output), "1234\n1235\n1235\nhome\n");
    use std::os::unix::fs::MetadataExt;
    assert_eq!(std::fs::metadata(top.path().join("f")).unwrap().uid(), 1234);
}
