//! Files through a workspace.

use tenon_sandbox::{Expected, Workspace};

#[test]
fn spec_29_a_file_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let written = workspace.write("a/b/c.txt", b"one", Expected::Any).unwrap();
    assert!(written.created && !written.in_place);
    assert_eq!(workspace.read("a/b/c.txt", 100).unwrap(), b"one");
}
