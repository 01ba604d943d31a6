//! Subvolumes of Btrfs: each is a device of its own on one mount, and nothing can be renamed between two.

use serde_json::json;

use crate::{
    program::{Place, Run},
    undo::bash,
};

/// Mounts a file system of its own at `mnt`, with a subvolume `v` and in it a folder and another subvolume.
const MOUNT: &str = "
PATH=$PATH:/usr/sbin:/sbin; command -v mkfs.btrfs >/dev/null && [ \"$(id -u)\" = 0 ] || exit 9
cd ..; truncate -s 200M image && mkfs.btrfs -q image && mkdir mnt && mount -o loop image mnt || exit 9
make() { python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x5000940e, bytearray(struct.pack(\"q4088s\", 0, sys.argv[2].encode())))' \"$@\"; }
set -e; make mnt v; mkdir mnt/v/folder; make mnt/v other; mkdir mnt/v/folder/ws
";

fn shell(place: &Place, script: &str) -> Run {
    Run::of(place.program("bash", &["-c", script]).output().unwrap())
}

struct Mounted<'a>(&'a Place);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        shell(self.0, "umount ../mnt");
    }
}

#[test]
fn what_a_command_does_in_a_subvolume_is_undone() {
    let place = Place::new();
    let made = shell(&place, MOUNT);
    if made.status == 9 {
        return println!("skipped: no mkfs.btrfs, or nobody may mount a loop device");
    }
    let mounted = Mounted(&place);
    made.ends_with(0);
    for workspace in ["mnt/v", "mnt/v/folder", "mnt/v/folder/ws"] {
        place.write(&format!("{workspace}/old"), "old\n");
        let script = place.script(json!([
            bash("rm old; echo new > f; mkdir -p d/e; echo x > d/e/x"),
            {"text": "."},
        ]));
        let run = |arguments: &[&str]| {
            let mut tenon = place.tenon(arguments);
            Run::of(tenon.current_dir(place.path(workspace)).output().unwrap()).ends_with(0)
        };
        run(&["--model", &script, "go"]);
        run(&["undo"]);
        assert!(place.path(workspace).join("old").exists(), "{workspace}");
        assert!(!place.path(workspace).join("d").exists(), "{workspace}");
    }
    drop(mounted);
}
