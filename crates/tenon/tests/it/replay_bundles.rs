//! Bundles are replayed in another home, and refused where they are damaged or hostile.

use serde_json::json;

use crate::program::Place;
use crate::replay::recorded;
use crate::undo::bash;

#[test]
fn a_bundle_is_replayed_in_another_home() {
    let place = Place::new();
    place.write("work/a.txt", "one\n");
    place.write("work/.env", "API_KEY=s3cret-0123456789\n");
    place.write("work/copy.txt", "also s3cret-0123456789\n");
    place.write("work/key.pem", "-----BEGIN RSA PRIVATE KEY-----\n");
    std::os::unix::fs::symlink("/etc/passwd", place.path("work/link")).unwrap();
    let script = place.script(json!([
        bash("pwd; cat a.txt; sed -i s/one/two/ a.txt; readlink link"),
        bash("seq 1 20000"),
        {"text": "Done."},
    ]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let run = place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let run = run.says(&["left out: .env (", "left out: copy.txt (", "left out: key.pem ("]);
    assert!(!run.error.contains("a.txt"), "{run:?}");
    let other = Place::new();
    let bundle = other.path("work/in.tar.gz");
    std::fs::copy(place.path("work/out.tar.gz"), &bundle).unwrap();
    drop(place);
    let run = other.run(&["replay", "in.tar.gz"]).ends_with(0);
    assert_eq!(run.out, "replayed 3 steps and 2 calls: nothing differs from the recording\n");
    let packed = std::process::Command::new("tar").args(["tzf"]).arg(&bundle).output().unwrap();
    let names = String::from_utf8(packed.stdout).unwrap();
    assert_eq!(names, "tenon-bundle.json\nsession.jsonl\nroots/0/a.txt\nroots/0/link\n");
}

#[test]
fn what_is_known_to_be_a_secret_only_now_is_no_difference_and_in_no_bundle() {
    const KEY: &str = "sk-Zq8vT2mXw9LrB4nYp7Hd3KfJ6sQa1Ec5";
    let place = Place::new();
    let script = place.script(json!([
        bash(&format!("echo 'it is {KEY}'; echo {KEY} > gone; rm gone")),
        {"text": format!("I saw {KEY}.")},
    ]));
    let prompt = format!("use {KEY}");
    place.run(&["-p", "--model", &script, "--allow", "bash", &prompt]).ends_with(0);
    place.write("work/.env", &format!("API_KEY={KEY}\n"));
    place.run(&["replay", "last"]).ends_with(0);
    let script = place.script(json!([{"text": format!("Again {KEY}.")}]));
    place.run(&["-p", "-c", "--model", &script, "and now"]).ends_with(0);
    place.run(&["replay", "last"]).ends_with(0);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let bundle = place.path("work/out.tar.gz");
    let log = std::process::Command::new("tar").args(["xOzf"]).arg(&bundle).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(!log.contains(KEY) && log.contains("value of API_KEY from .env"), "{log}");
    let other = Place::new();
    std::fs::copy(bundle, other.path("work/in.tar.gz")).unwrap();
    other.run(&["replay", "in.tar.gz"]).ends_with(0);
}

#[test]
fn a_damaged_bundle_is_refused_before_anything_is_run() {
    let place = recorded(&[]);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let good = std::fs::read(place.path("work/out.tar.gz")).unwrap();
    let bytes = good.len();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        std::fs::write(place.path("work/bad.tar.gz"), bundle).unwrap();
        place.run(&["replay", "bad.tar.gz"])
    };
    damaged(&|_| {}).ends_with(0);
    let unpacked = |name: &str| {
        let packed = place.path("work").join(name);
        std::process::Command::new("gzip").arg("-dc").arg(packed).output().unwrap()
    };
    let whole = unpacked("out.tar.gz").stdout;
    // The checksum, the length behind it, and what stands between.
    for at in [bytes - 8, bytes - 5, bytes - 4].into_iter().chain((20..bytes - 9).step_by(97)) {
        let run = damaged(&|bundle| bundle[at] ^= 0x10);
        // Another distance into a run of zeros is the same archive: nothing is damaged then.
        let packed = unpacked("bad.tar.gz");
        if packed.status.success() && packed.stdout == whole {
            run.ends_with(0);
            continue;
        }
        let run = run.ends_with(2);
        assert!(run.error.contains("no bundle that can be replayed"), "{at}: {run:?}");
        assert_eq!(run.out, "", "{at}");
    }
    let run = damaged(&|bundle| bundle.truncate(bytes - 3)).ends_with(2);
    assert!(run.error.contains("no bundle that can be replayed"), "{run:?}");
    let run = damaged(&|bundle| bundle.extend_from_within(..)).ends_with(2);
    assert!(run.error.contains("something follows behind its end"), "{run:?}");
    let run = damaged(&|bundle| bundle[bytes - 5] ^= 1).ends_with(2);
    assert!(run.error.contains("it is damaged: its checksum is another"), "{run:?}");
}

/// Makes an archive with Python's writer, which makes what tenon's own would not.
fn hostile(place: &Place, members: &str) -> String {
    let script = format!(
        "import tarfile, io, json\n\
         t = tarfile.open('bad.tar.gz', 'w:gz', format=tarfile.USTAR_FORMAT)\n\
         def add(name, data=b'x', kind=tarfile.REGTYPE, link='', size=None):\n    \
             i = tarfile.TarInfo(name); i.type = kind; i.linkname = link\n    \
             i.size = len(data) if kind == tarfile.REGTYPE else 0\n    \
             t.addfile(i, io.BytesIO(data))\n\
         about = {{'version': 1, 'session': 'x', 'roots': ['/w/x'], 'tenon': '0'}}\n\
         {members}\n\
         t.close()\n"
    );
    let made = std::process::Command::new("python3")
        .arg("-c")
        .arg(script)
        .current_dir(place.path("work"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    "bad.tar.gz".to_owned()
}

#[test]
fn a_hostile_bundle_is_refused_and_writes_nothing_outside() {
    const ABOUT: &str = "add('tenon-bundle.json', json.dumps(about).encode())";
    let members = [
        "add('../evil')",
        "add('roots/0/../../../../evil')",
        "add('/tmp/evil-of-a-bundle')",
        "add('roots/99/evil')",
        "add('roots/0')",
        "add('made/evil/0')",
        "add('made/0/0', kind=tarfile.SYMTYPE, link='../../../..'); add('made/0/0/evil')",
        "add('evil')",
        "add('roots/0/a', kind=tarfile.LNKTYPE, link='/etc/passwd')",
        "add('roots/0/a', kind=tarfile.CHRTYPE)",
        "add('roots/0/a', kind=tarfile.FIFOTYPE)",
        "add('roots/0/a', kind=tarfile.SYMTYPE, link='../../../..'); add('roots/0/a/evil')",
        "add('roots/0/a'); add('roots/0/a')",
        "add('roots/0/a'); add('roots/0/a/b')",
        "add('session.jsonl'); add('session.jsonl')",
        "about.update(version=3, roots=['/w', '/w/b']); add('tenon-bundle.json', json.dumps(about).encode()); add('roots/0/b', kind=tarfile.SYMTYPE, link='../../../..'); add('roots/1/evil')",
        "i = tarfile.TarInfo('roots/0/big'); i.size = 1 << 32; t.fileobj.write(i.tobuf())",
    ];
    let place = Place::new();
    for member in members {
        let bundle = hostile(&place, &format!("{ABOUT}; {member}"));
        let run = place.run(&["replay", &bundle]).ends_with(2);
        assert!(run.error.contains("no bundle that can be replayed"), "{member}: {run:?}");
    }
    for about in [
        "{}",
        "{'version': 4, 'session': 'x', 'roots': ['/w/x'], 'tenon': '0'}",
        "{'version': 3, 'session': 'x', 'roots': ['/w', '/w/../etc'], 'tenon': '0'}",
        "{'version': 1, 'session': 'x', 'roots': [], 'tenon': '0'}",
        "{'version': 1, 'session': 'x', 'roots': ['/'], 'tenon': '0'}",
        "{'version': 1, 'session': 'x', 'roots': ['w'], 'tenon': '0'}",
    ] {
        let member = format!("add('tenon-bundle.json', json.dumps({about}).encode())");
        let bundle = hostile(&place, &member);
        place.run(&["replay", &bundle]).ends_with(2).says(&["no bundle that can be replayed"]);
    }
    place.run(&["replay", &hostile(&place, ABOUT)]).ends_with(2).says(&["no log"]);
    let whole = std::fs::read(place.path("work/bad.tar.gz")).unwrap();
    std::fs::write(place.path("work/bad.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    place.run(&["replay", "bad.tar.gz"]).ends_with(2);
    let garbage = [0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    std::fs::write(place.path("work/garbage.tar.gz"), garbage).unwrap();
    place.run(&["replay", "garbage.tar.gz"]).ends_with(2);
    let started = r#"{"time_ms":1,"type":"session_started","version":1,"session":"../evil","workspace":["/w"],"model":"x","tenon":"0"}"#;
    let deep = format!("{}{}\n", "[".repeat(200_000), "]".repeat(200_000));
    place.write("work/deep.jsonl", &format!("{started}\n{deep}"));
    place.run(&["replay", "deep.jsonl"]).ends_with(1).says(&["the log has no request"]);
    let find =
        "find . -name 'evil*'; ls /tmp/evil-of-a-bundle 2> /dev/null; find home/.cache -mindepth 3";
    let found = place.program("sh", &["-c", find]).current_dir(place.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
