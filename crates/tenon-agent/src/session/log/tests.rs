//! Logs that are written, torn, mended, shared and full.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::event::{SessionEvent, TurnEvent};
use crate::{event::LOG_VERSION, session_note::SessionNote};

fn note(text: &str) -> Record {
    Record { time_ms: 7, event: TurnEvent::Notice { text: text.into() }.into() }
}

fn started(id: &str) -> Record {
    let event = SessionNote::SessionStarted {
        version: LOG_VERSION,
        session: id.into(),
        workspace: vec!["/w".into()],
        model: "scripted/x".into(),
        tenon: "0".into(),
        price: None,
        abilities: None,
        forked_from: None,
        results_of: None,
        moved_to: Vec::new(),
        named: Vec::new(),
    };
    Record { time_ms: 1, event: event.into() }
}

fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.jsonl"))
}

#[test]
fn what_was_appended_is_read_back_and_the_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new");
    let log = SessionLog::create(&folder).unwrap();
    let id = log.id().to_owned();
    log.append(&started(&id)).unwrap();
    log.append(&note("汉 \u{1b}[0m")).unwrap();
    drop(log);
    let session = read(&folder, &id).unwrap();
    assert_eq!(session.records, [started(&id), note("汉 \u{1b}[0m")]);
    assert_eq!(session.skipped, 0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&path(&folder, &id)), 0o600);
}

#[test]
fn a_new_log_that_took_no_event_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let path = path(folder.path(), log.id());
    drop(log);
    assert!(!path.exists());
    let log = SessionLog::create(folder.path()).unwrap();
    log.append(&started("a")).unwrap();
    drop(log);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_id_is_no_path() {
    assert!(read(Path::new("/"), "../etc/passwd").is_err());
    assert!(SessionLog::open(Path::new("/"), "../etc/passwd").is_err());
}

#[test]
fn a_torn_last_line_is_taken_away_before_the_log_goes_on() {
    // Cut anywhere in its last line, a log goes on with the lines before.
    let whole = [started("a"), note("one 汉"), note("two")]
        .map(|record| serde_json::to_string(&record).unwrap() + "\n");
    let text = whole.concat();
    let before = whole[0].len() + whole[1].len();
    for cut in before..text.len() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(path(folder.path(), "a"), &text.as_bytes()[..cut]).unwrap();
        let (log, session) = SessionLog::open(folder.path(), "a").unwrap();
        let expected = [started("a"), note("one 汉")];
        assert_eq!((&*session.records, session.skipped), (&expected[..], 0), "{cut}");
        log.append(&note("three")).unwrap();
        drop(log);
        let read = read(folder.path(), "a").unwrap();
        assert_eq!(read.records.last(), Some(&note("three")));
        assert_eq!((read.records.len(), read.skipped), (3, 0), "{cut}");
    }
}

#[test]
fn garbage_in_the_middle_and_events_of_later_versions_are_skipped_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let middle = b"\0\0\0\n\xff\xfe{]\n{\"time_ms\":1,\"type\":\"later\",\"x\":1}\n\n";
    let line = |record| serde_json::to_vec(&record).unwrap();
    let text = [&line(started("a")), &b"\n"[..], middle, &line(note("b")), b"\n"].concat();
    std::fs::write(path(folder.path(), "a"), &text).unwrap();
    let (log, session) = SessionLog::open(folder.path(), "a").unwrap();
    assert_eq!((session.records, session.skipped), (vec![started("a"), note("b")], 4));
    assert_eq!(session.lines, [1, 6]);
    log.append(&note("c")).unwrap();
    let now = std::fs::read(path(folder.path(), "a")).unwrap();
    assert!(now.starts_with(&text));
}

#[test]
fn a_log_of_a_newer_format_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let newer = r#"{"time_ms":1,"type":"session_resumed","version":99,"workspace":["/w"],"model":"m","tenon":"9"}"#;
    std::fs::write(path(folder.path(), "a"), format!("{newer}\n")).unwrap();
    for error in [
        SessionLog::open(folder.path(), "a").map(drop).unwrap_err(),
        SessionLog::fork(folder.path(), "a").map(drop).unwrap_err(),
    ] {
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("newer version of tenon"), "{source}");
    }
}

#[test]
fn one_process_at_a_time_writes_a_log_and_a_lock_ends_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    log.append(&started(&id)).unwrap();
    let error = SessionLog::open(folder.path(), &id).map(drop).unwrap_err();
    assert!(error.is_in_use() && error.broken_session().is_none());
    // As a child has it that was forked a moment ago and runs no other program yet.
    let _inherited = log.file.try_clone().unwrap();
    drop(log);
    assert!(SessionLog::open(folder.path(), &id).is_ok());
}

#[test]
fn a_fork_begins_with_the_same_lines_and_leaves_the_old_log_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let old = SessionLog::create(folder.path()).unwrap();
    old.append(&started(old.id())).unwrap();
    OpenOptions::new()
        .append(true)
        .open(path(folder.path(), old.id()))
        .unwrap()
        .write_all(b"{\"later\":1}\n")
        .unwrap();
    old.append(&note("a")).unwrap();
    let before = std::fs::read(path(folder.path(), old.id())).unwrap();
    let (new, session) = SessionLog::fork(folder.path(), old.id()).unwrap();
    assert_eq!((session.records.len(), session.skipped, &*session.lines), (2, 1, &[1, 3][..]));
    assert_eq!(session.records[1], note("a"));
    new.append(&note("b")).unwrap();
    assert_eq!(std::fs::read(path(folder.path(), old.id())).unwrap(), before);
    // A fork of a fork still finds the long results.
    let (_, second) = SessionLog::fork(folder.path(), new.id()).unwrap();
    assert_eq!(second.results_of(), old.id());
    assert_eq!(second.records.len(), 3);
}

#[test]
fn a_disk_that_is_full_or_broken_says_so_and_leaves_whole_lines() {
    for (device, words) in [("/dev/full", "No space left"), ("/proc/self/mem", "Input/output")] {
        let folder = tempfile::tempdir().unwrap();
        let mut log = SessionLog::create(folder.path()).unwrap();
        let id = log.id().to_owned();
        log.append(&note("kept")).unwrap();
        let disk = std::mem::replace(
            &mut log.file,
            Arc::new(OpenOptions::new().write(true).open(device).unwrap()),
        );
        let error = log.append(&note("lost")).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(words), "{device}: {source}");
        assert_eq!(error.broken_session(), Some(id.as_str()));
        // Half a line, as a disk that fills up leaves it, is gone before the next one.
        (&*disk).write_all(b"{\"time_ms\":1,\"ty").unwrap();
        log.file = disk;
        log.lock_written().torn = true;
        log.append(&note("after")).unwrap();
        let session = read(folder.path(), &id).unwrap();
        assert_eq!((session.records, session.skipped), (vec![note("kept"), note("after")], 0));
    }
}

#[test]
fn a_failed_sync_is_passed_on_by_the_next_append() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    *log.sync_error.lock().unwrap() = Some(io::Error::from_raw_os_error(5));
    assert!(log.append(&note("a")).is_err());
    assert!(log.append(&note("b")).is_ok());
    assert_eq!(log.session().unwrap().records, [note("b")]);
}

#[test]
fn an_event_waits_at_most_200_ms_for_the_disk() {
    assert_eq!(SYNC_EVERY, Duration::from_millis(200));
}

#[test]
fn what_was_written_is_synced_by_itself_and_the_last_when_the_log_is_closed() {
    let (due, wait) = mpsc::sync_channel(1);
    let (synced, syncs) = mpsc::channel();
    let failed = Mutex::default();
    std::thread::scope(|scope| {
        let failed = &failed;
        scope.spawn(move || {
            sync_when_written(&wait, failed, || synced.send(()).map_err(io::Error::other));
        });
        // Nothing else need be written for it.
        for _ in 0..2 {
            due.send(()).unwrap();
            syncs.recv().unwrap();
        }
        due.send(()).unwrap();
        drop(due);
        syncs.recv().unwrap();
        assert!(syncs.recv().is_err(), "once");
    });
    assert!(failed.into_inner().unwrap().is_none());
}

#[test]
fn a_fork_of_a_session_with_several_models_knows_to_whom_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let old = SessionLog::create(folder.path()).unwrap();
    old.append(&started(old.id())).unwrap();
    let event = SessionNote::ModelChanged { model: "other/y".into(), price: None, abilities: None };
    old.append(&Record { time_ms: 2, event: event.into() }).unwrap();
    let (_, fork) = SessionLog::fork(folder.path(), old.id()).unwrap();
    let SessionEvent::Session(SessionNote::SessionStarted { model, .. }) = &fork.records[0].event
    else {
        panic!("{:?}", fork.records[0]);
    };
    assert_eq!(model, "scripted/x");
    assert_eq!(fork.worked_with().unwrap().1, "other/y");
}

#[test]
fn a_log_is_kept_also_in_a_folder_whose_names_cannot_be_synced() {
    // There is no such folder any more when it is to be synced.
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let log = SessionLog::create(&sessions).unwrap();
    std::fs::rename(&sessions, folder.path().join("elsewhere")).unwrap();
    log.append(&note("a")).unwrap();
    let failed = Arc::clone(&log.sync_error);
    drop(log);
    assert!(failed.lock().unwrap().is_none());
}
