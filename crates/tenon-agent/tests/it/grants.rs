//! What leaves the workspace or is protected: asked about by name, opened as it was shown.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tenon_agent::{
    Answer, CallEvent, CoreToolOptions, FrontEnd, Live, Mode, Origin, Question, Rule, Rules,
    SessionEvent, Update, Verdict, core_tools,
};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, bench, bench_with, calls, text};

/// Does something while a question stands, and says yes.
struct Exchanging(Mutex<Box<dyn FnMut() + Send>>);

#[async_trait]
impl FrontEnd for Exchanging {
    fn update(&self, _update: Update) {}

    async fn ask(&self, _question: Question) -> Answer {
        (self.0.lock().unwrap())();
        Answer::Allow
    }
}

/// Thinks about each question for a while, and keeps what it is shown.
#[derive(Default)]
struct Slow(Mutex<Vec<String>>);

#[async_trait]
impl FrontEnd for Slow {
    fn update(&self, update: Update) {
        let said = match update {
            Update::Live(Live::CallWaits { call_id, waits }) => format!("{call_id} waits: {waits}"),
            _ => return,
        };
        self.0.lock().unwrap().push(said);
    }

    async fn ask(&self, question: Question) -> Answer {
        self.0.lock().unwrap().push(format!("{} asks", question.call_id));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        Answer::Allow
    }
}

/// Returns a folder outside of every workspace with the file `f` in it.
fn outside() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("f"), "of outside\n").unwrap();
    (folder, path)
}

fn read(path: &Path) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

async fn run(bench: &mut Bench, calls: usize) -> Vec<(String, bool)> {
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    (1..=calls).flat_map(|index| bench.results(index)).collect()
}

/// Makes the calls one after another, with these answers to the questions.
async fn play(made: &[(&str, Value)], answers: &[Answer]) -> (Bench, Vec<(String, bool)>) {
    let mut turns: Vec<_> = made.iter().map(|call| calls(std::slice::from_ref(call))).collect();
    turns.push(text("done"));
    let mut bench = bench(turns, core_tools(CoreToolOptions::default()));
    bench.front.answers.lock().unwrap().extend(answers.iter().cloned());
    let results = run(&mut bench, made.len()).await;
    (bench, results)
}

fn subjects(bench: &Bench) -> Vec<String> {
    bench.front.questions.lock().unwrap().iter().map(|question| question.subject.clone()).collect()
}

#[tokio::test]
async fn spec_15_where_nobody_can_be_asked_a_path_outside_is_refused_word_for_word() {
    let (_folder, path) = outside();
    let file = path.join("f");
    let (_, results) = play(&[read(&file)], &[]).await;
    let shown = file.display();
    let expected = format!(
        "Error: Path escapes workspace: {shown}\nneeds the user's yes, and nobody is here to ask: \
         `{shown}` lies outside the workspace. The user can allow it with --allow 'read({shown})'."
    );
    assert_eq!(results, [(expected, true)]);
}

#[tokio::test]
async fn a_yes_opens_one_file_once_or_for_the_session() {
    let (_folder, path) = outside();
    std::fs::write(path.join("g"), "other\n").unwrap();
    let (f, g) = (path.join("f"), path.join("g"));
    let made = [read(&f), read(&f), read(&f), read(&g)];
    let answers = [Answer::Allow, Answer::AllowForSession, Answer::Deny(Some("no".into()))];
    let (bench, results) = play(&made, &answers).await;
    let contents: Vec<&str> = results.iter().map(|(content, _)| content.as_str()).collect();
    assert_eq!(contents[..3], ["1\tof outside"; 3]);
    let refused = format!(
        "Error: Path escapes workspace: {}\nthe user refused this call and said: no",
        g.display()
    );
    assert_eq!(contents[3], refused);
    let asked = [&f, &f, &g].map(|path| path.display().to_string());
    assert_eq!(subjects(&bench), asked);
}

#[tokio::test]
async fn a_call_says_that_it_waits_for_its_turn_to_ask() {
    let (_folder, path) = outside();
    std::fs::write(path.join("g"), "other\n").unwrap();
    let front = Arc::new(Slow::default());
    let turns = vec![calls(&[read(&path.join("f")), read(&path.join("g"))]), text("done")];
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench_with(turns, tools, |options| options.front = front.clone());
    let results = run(&mut bench, 1).await;
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    let seen = front.0.lock().unwrap();
    let expected = ["call_0 asks", "call_1 waits: true", "call_1 waits: false", "call_1 asks"];
    assert_eq!(*seen, expected);
}

#[tokio::test]
async fn reading_is_no_leave_to_write_and_writing_edits_again() {
    let (_folder, path) = outside();
    let file = path.join("f");
    let edit = |old: &str, new: &str| {
        ("edit_file", json!({ "path": file, "old_text": old, "new_text": new }))
    };
    let made = [read(&file), edit("of", "in"), edit("in", "on"), read(&file)];
    let answers = [Answer::AllowForSession, Answer::AllowForSession, Answer::Nobody];
    let (bench, results) = play(&made, &answers).await;
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "on outside\n");
    assert_eq!(subjects(&bench).len(), 2);
}

#[tokio::test]
async fn a_folder_is_searched_once_it_is_granted() {
    let (_folder, path) = outside();
    let made = [
        ("grep", json!({ "pattern": "outside", "path": path })),
        ("glob", json!({ "pattern": "*", "path": path })),
        read(&path.join("f")),
    ];
    let (bench, results) = play(&made, &[Answer::AllowForSession]).await;
    let file = path.join("f").display().to_string();
    assert_eq!(results[0].0, format!("{file}:1:of outside"));
    assert_eq!(results[1].0, file);
    assert_eq!(results[2].0, "1\tof outside");
    let rule = bench.front.questions.lock().unwrap()[0].decision.lifted_by[0].to_string();
    assert_eq!(rule, format!("read({}/**)", path.display()));
}

#[tokio::test]
async fn one_answer_for_the_session_settles_what_was_asked_for_at_the_same_time() {
    let (_folder, path) = outside();
    let file = path.join("f");
    let made = [("grep", json!({ "pattern": "outside", "path": path })), read(&file), read(&file)];
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench(vec![calls(&made), text("done")], tools);
    bench.front.answers.lock().unwrap().push_back(Answer::AllowForSession);
    let results = run(&mut bench, 1).await;
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    assert_eq!(subjects(&bench).len(), 1);
    let updates = bench.front.updates.lock().unwrap();
    let decided = updates.iter().filter_map(|update| match update {
        Update::Stored(record) => match &record.event {
            SessionEvent::Call(CallEvent::CallDecided { rule, asked, .. }) => {
                Some((&**rule, *asked))
            }
            _ => None,
        },
        _ => None,
    });
    let given = format!("read({}/**)", path.display());
    let expected = [("built-in: path outside", true), (&*given, false), (&*given, false)];
    assert_eq!(decided.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_link_is_shown_as_the_file_that_it_leads_to() {
    let (_folder, path) = outside();
    let file = path.join("f");
    let made = [("read_file", json!({ "path": "link" }))];
    let mut bench = bench_with(
        vec![calls(&made), text("done")],
        core_tools(CoreToolOptions::default()),
        |options| symlink(&file, options.workspace.root().join("link")).unwrap(),
    );
    bench.front.answers.lock().unwrap().push_back(Answer::Allow);
    assert_eq!(run(&mut bench, 1).await[0].0, "1\tof outside");
    let questions = bench.front.questions.lock().unwrap();
    assert_eq!(questions[0].subject, file.display().to_string());
    assert!(questions[0].decision.reason.contains("the model named it `link`"));
}

#[tokio::test]
async fn closed_and_unshowable_places_are_never_asked_about() {
    let (_folder, path) = outside();
    let names = ["a\u{202e}txt", "a\nAllow it", "a\u{1b}[2J", "a\u{200b}b"];
    let mut made: Vec<_> = names
        .iter()
        .map(|name| {
            std::fs::write(path.join(name), "odd").unwrap();
            read(&path.join(name))
        })
        .collect();
    made.push(("read_file", json!({ "path": "/proc/self/environ" })));
    made.push(("read_file", json!({ "path": path })));
    made.push(("write_file", json!({ "path": path, "content": "x" })));
    made.push(("read_file", json!({ "path": format!("/{}", "a/".repeat(50_000)) })));
    let (bench, results) = play(&made, &[]).await;
    assert_eq!(subjects(&bench), Vec::<String>::new());
    for (content, is_error) in &results[..7] {
        assert!(*is_error && content.starts_with("Error: Path escapes workspace: "), "{content}");
    }
    assert!(results[7].1 && results[7].0.contains("longer than a path"));
}

/// Has `exchange` run in the workspace while a question about `call` stands, to which the answer is
/// yes, and returns the result.
async fn exchanged(
    call: (&str, Value),
    prepare: impl FnOnce(&Path),
    mut exchange: impl FnMut(&Path) + Send + 'static,
) -> String {
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench_with(vec![calls(&[call]), text("done")], tools, |options| {
        let root = options.workspace.root().to_path_buf();
        prepare(&root);
        options.front = Arc::new(Exchanging(Mutex::new(Box::new(move || exchange(&root)))));
    });
    run(&mut bench, 1).await.remove(0).0
}

#[tokio::test]
async fn what_is_exchanged_while_a_question_stands_is_not_opened() {
    let (_folder, path) = outside();
    std::fs::write(path.join("secret"), "SECRET\n").unwrap();
    let (file, secret) = (path.join("f"), path.join("secret"));
    let said = exchanged(read(&file), |_| {}, {
        let (file, secret) = (file.clone(), secret.clone());
        move |_| {
            std::fs::remove_file(&file).unwrap();
            symlink(&secret, &file).unwrap();
        }
    })
    .await;
    assert!(said.contains("leads to something else than a moment ago"), "{said}");
    // A link of the workspace that turns: what was shown is what is read.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "of outside\n").unwrap();
    let link = |to: PathBuf| {
        move |root: &Path| {
            let _ = std::fs::remove_file(root.join("link"));
            symlink(&to, root.join("link")).unwrap();
        }
    };
    let call = ("read_file", json!({ "path": "link" }));
    let said = exchanged(call, link(file.clone()), link(secret)).await;
    assert_eq!(said, "1\tof outside");
}

#[tokio::test]
async fn a_protected_file_is_written_where_it_was_shown_or_not_at_all() {
    let (hooks, editor) = (".git/hooks", ".vscode");
    let prepare = move |root: &Path| {
        for folder in [hooks, editor] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink(editor, root.join("way")).unwrap();
    };
    let turn = move |root: &Path| {
        std::fs::remove_file(root.join("way")).unwrap();
        symlink(hooks, root.join("way")).unwrap();
    };
    let call = ("write_file", json!({ "path": "way/pre-commit", "content": "x" }));
    let said = exchanged(call.clone(), prepare, turn).await;
    assert!(said.starts_with("Error: Protected file: way/pre-commit"), "{said}");
    let said = exchanged(call, prepare, |_| {}).await;
    assert_eq!(said, "Wrote 1 byte to way/pre-commit");
}

fn rules(lines: &[(&str, Verdict)]) -> Rules {
    lines.iter().flat_map(|(line, verdict)| Rule::parse(line, *verdict, Origin::Config)).collect()
}

/// Makes the folders `secrets` and `src`, and links between them.
fn linked(root: &Path) {
    for folder in ["secrets", "src"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("secrets/key"), "KEY\n").unwrap();
    symlink("secrets", root.join("s")).unwrap();
    symlink("../secrets", root.join("src/out")).unwrap();
}

#[tokio::test]
async fn a_denied_folder_is_denied_by_every_way_that_leads_there() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let edit = json!({ "path": "s/key", "old_text": "KEY", "new_text": "x" });
    let made = [
        ("read_file", json!({ "path": "s/key" })),
        ("grep", json!({ "pattern": ".", "path": "s" })),
        ("glob", json!({ "pattern": "s/*" })),
        write("src/out/new"),
        write("s/new/folder/a"),
        ("edit_file", edit),
    ];
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench_with(vec![calls(&made), text("done")], tools, |options| {
        linked(options.workspace.root());
        let denied = [("read(secrets/**)", Verdict::Deny), ("write(secrets/**)", Verdict::Deny)];
        options.rules = rules(&denied);
    });
    for (result, is_error) in run(&mut bench, 1).await {
        assert!(is_error && result.contains("(secrets/**) forbids it"), "{result}");
    }
    let left = std::fs::read_dir(bench.folder.path().join("secrets")).unwrap().count();
    assert_eq!(left, 1);
}

#[tokio::test]
async fn leave_for_a_folder_is_none_for_where_its_links_lead() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let made = [write("src/new"), write("src/out/new"), write("src/out/asked")];
    let tools = core_tools(CoreToolOptions::default());
    let turns = made.iter().map(|call| calls(std::slice::from_ref(call))).chain([text("done")]);
    let mut bench = bench_with(turns.collect(), tools, |options| {
        linked(options.workspace.root());
        options.rules = rules(&[("write(src/**)", Verdict::Allow)]);
        options.mode = Mode::Ask;
    });
    bench.front.answers.lock().unwrap().extend([Answer::Deny(None), Answer::Allow]);
    let failed: Vec<bool> =
        run(&mut bench, 3).await.into_iter().map(|(_, failed)| failed).collect();
    assert_eq!(failed, [false, true, false]);
    assert_eq!(subjects(&bench), ["secrets/new", "secrets/asked"]);
}

#[tokio::test]
async fn a_link_that_turns_while_a_question_stands_is_not_followed() {
    let prepare = |root: &Path| {
        linked(root);
        symlink("src", root.join("way")).unwrap();
    };
    let turn = |root: &Path| {
        std::fs::remove_file(root.join("way")).unwrap();
        symlink("secrets", root.join("way")).unwrap();
    };
    let call = ("write_file", json!({ "path": "way/new", "content": "x" }));
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench_with(vec![calls(&[call]), text("done")], tools, |options| {
        let root = options.workspace.root().to_path_buf();
        prepare(&root);
        options.mode = Mode::Ask;
        options.front = Arc::new(Exchanging(Mutex::new(Box::new(move || turn(&root)))));
    });
    let (said, is_error) = run(&mut bench, 1).await.remove(0);
    assert!(is_error && said.contains("leads to something else than a moment ago"), "{said}");
    assert!(!bench.folder.path().join("secrets/new").exists());
}

#[tokio::test]
async fn always_holds_from_now_on_and_is_noted_under_its_rule() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let made = [write(".envrc"), write(".envrc"), write("sub/.envrc")];
    let (bench, results) = play(&made, &[Answer::AllowAlways, Answer::Nobody]).await;
    assert_eq!(
        results.iter().map(|(_, is_error)| *is_error).collect::<Vec<_>>(),
        [false, false, true]
    );
    let root = bench.folder.path().canonicalize().unwrap();
    let asked = [".envrc", "sub/.envrc"].map(|path| root.join(path).display().to_string());
    assert_eq!(subjects(&bench), asked);
    let noted = format!("allowed always: write({}/.envrc)", root.display());
    let updates = bench.front.updates.lock().unwrap();
    assert!(updates.iter().any(|update| format!("{update:?}").contains(&noted)));
}
