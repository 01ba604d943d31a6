//! What is written through a mapping that was there before a look.

use std::io::Write;

use super::*;

/// Writes to a file so that its stamp stays, as through a mapping that was written through before: no
/// test can do that here without `unsafe`, so what is known gets the new stamp.
fn check(name: &str, before: &str, written: &str) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = root.join(name);
    #[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
    let write = |text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    write(written);
    let roots = [root.clone()];
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    write(before);
    let (mut known, _) =
        scan(&roots, &BTreeMap::new(), Stamps::Hold, &mut Listings::default(), Limits::default());
    write(written);
    let place = Place::new(&root, Path::new(name), 0);
    let item = look(&place, None).unwrap();
    known.get_mut(&place).unwrap().take_stamp_of(&item);
    guard.before = known;
    let changes = guard.end(None);
    assert_eq!(changes.len(), 1, "{name}");
    let is_kept = before.len() as u64 <= item::FILE_BYTES_MAX;
    assert_eq!((&changes[0].path, changes[0].put_back), (&path, is_kept));
    #[expect(clippy::disallowed_methods, reason = "looks from outside")]
    let found = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found == before, is_kept);
}

#[test]
fn what_is_written_late_through_a_mapping_is_found() {
    check(".envrc", "good", "evil");
    let long = |text: &str| text.repeat(1 << 19);
    check(".idea/workspace.xml", &long("good"), &long("evil"));
}

#[test]
fn a_long_index_that_is_written_late_is_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    shell(&root, "git init -q .");
    let roots = [root.clone()];
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    let write = |name: &str| {
        shell(&root, &format!("{}; long .git/index {name} {}", written::WRITE_LONG, 65 << 20));
    };
    write("a");
    let told = |changes: Vec<ProtectedChange>| {
        let kinds = changes.into_iter().map(|change| change.kind);
        kinds.filter(|kind| !is_lack(kind)).collect::<Vec<_>>()
    };
    assert_eq!(told(guard.look()), []);
    write("../a");
    let place = Place::new(&root, Path::new(".git/index"), 1);
    let item = look(&place, None).unwrap();
    guard.before.get_mut(&place).unwrap().take_stamp_of(&item);
    assert_eq!(told(guard.end(None)), [ProtectedChangeKind::GitIndex { is_out: true }]);
}
