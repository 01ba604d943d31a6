//! In a Chinese locale nothing is said in English that the table of texts has in Chinese.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    fake_server::{FakeServer, Reply},
    program::{Place, Run},
    terminal::{Home, Terminal},
};

const CTRL_D: &str = "\x04";
const CHINESE: (&str, &str) = ("LANG", "zh_CN.UTF-8");
/// Shorter pieces of English may be names, commands or words of a file.
const PIECE_CHARS_MIN: usize = 8;
/// What pieces begin with that stand in no source as they are: their words are put together when
/// they are said, or are another library's.
const JOINED: [&str; 8] = [
    "sent a ",
    "sent an event ",
    "new empty ",
    "is not in ",
    "may forbid it: ",
    "may ask about it: ",
    "could not be put back: the call ",
    "could not be put back: it is gone",
];

/// The files of the table.
const FILES: [&str; 6] = [
    include_str!("../../../tenon-cli/src/texts.rs"),
    include_str!("../../../tenon-cli/src/texts/changes.rs"),
    include_str!("../../../tenon-cli/src/texts/commands.rs"),
    include_str!("../../../tenon-cli/src/texts/doctor.rs"),
    include_str!("../../../tenon-cli/src/texts/failures.rs"),
    include_str!("../../../tenon-cli/src/texts/library.rs"),
];

/// Returns the rows of the table: each English text with its Chinese one.
fn rows() -> Vec<(String, String)> {
    let texts: Vec<_> = FILES.into_iter().flat_map(rows_of).collect();
    assert!(texts.len() > 600, "{}", texts.len());
    texts
}

fn rows_of(file: &str) -> Vec<(String, String)> {
    let (_, table) = file.split_once("\ntexts! {\n").unwrap();
    let (table, _) = table.split_once("\n}\n").unwrap();
    // Some rows are there in some builds alone.
    let table = table.replace("#[cfg(feature = \"local\")]", "");
    let (mut rest, mut texts) = (&*table, Vec::new());
    while let Some(start) = rest.find('"') {
        // What is escaped in the table is escaped in the same way in JSON.
        let mut found = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<String>();
        texts.push(found.next().unwrap().unwrap());
        rest = &rest[start + found.byte_offset()..];
    }
    assert!(texts.len().is_multiple_of(2), "{}", texts.len());
    texts.chunks(2).map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// Returns what stands between the values of an English text and cannot be a name.
fn pieces(english: &str) -> Vec<&str> {
    let parts = english.split('{').map(|part| part.split_once('}').map_or(part, |(_, said)| said));
    let parts = parts.map(|part| part.trim_matches([' ', ',', ';', ':', '(', ')']));
    parts.filter(|part| part.len() >= PIECE_CHARS_MIN && part.contains(' ')).collect()
}

fn is_in_chinese(said: &str) {
    // What the operating system says stays as it is.
    let said = said.replace("No such file or directory (os error 2)", "");
    for (english, chinese) in rows() {
        for piece in pieces(&english).into_iter().filter(|piece| !chinese.contains(piece)) {
            assert!(!said.contains(piece), "{english:?} is said in English:\n{said}");
        }
    }
}

/// Returns the text of every source but the table, with what is broken over lines joined.
fn sources() -> String {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
    let mut sources = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_source = path.extension().is_some_and(|end| end == "rs");
            match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
                "texts" | "tests" => {}
                _ if path.is_dir() => folders.push(path),
                _ if is_source => sources.push_str(&std::fs::read_to_string(path).unwrap()),
                _ => {}
            }
        }
    }
    sources.split("\\\n").map(str::trim_start).collect()
}

#[test]
fn every_row_that_is_found_by_its_english_is_said_somewhere() {
    let (sources, by_english) = (sources(), [FILES[1], FILES[5]]);
    for (english, _) in by_english.into_iter().flat_map(rows_of) {
        for piece in pieces(&english) {
            let is_joined = JOINED.iter().any(|joined| piece.starts_with(joined));
            assert!(is_joined || sources.contains(piece), "nobody says {english:?}");
        }
    }
}

#[test]
fn the_doctor_says_everything_in_the_language_of_the_locale() {
    let place = Place::new();
    let doctor = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["doctor"], arguments].concat();
        let mut command = place.tenon(&arguments);
        command.envs([CHINESE]).envs(variables.iter().copied());
        Run::of(command.output().unwrap()).out
    };
    let first = doctor(&[], &[]);
    for said in
        ["模型\n  ! 未配置模型\n    建议： 设置", "没有代理", "openat2：", "可写入：", "保存在："]
    {
        assert!(first.contains(said), "{said}: {first}");
    }
    is_in_chinese(&first);
    is_in_chinese(&doctor(&["--net", "example.com"], &[("ANTHROPIC_API_KEY", "k"), ("PATH", "/")]));
    is_in_chinese(&doctor(&["--net", "on"], &[("OPENAI_BASE_URL", "http://localhost:9")]));
    place.config("undo = false\n[providers.deep]\nkind = 'openai'\nbase_url = 'https://d.example'");
    let last = doctor(&["--sandbox", "off", "--model", "anthropic/m"], &[]);
    assert!(
        last.contains("anthropic 没有密钥") && last.contains("没有沙箱：--sandbox off"),
        "{last}"
    );
    is_in_chinese(&last);
    place.config("max_steps = 0");
    let wrong = doctor(&[], &[]);
    assert!(wrong.contains("建议： docs/configuration.md"), "{wrong}");
}

#[test]
fn the_doctor_in_a_session_speaks_its_language_too() {
    for flags in [&["--plain"][..], &[]] {
        let home = Home::new(json!([{"text": "好的。"}]));
        let mut terminal = Terminal::start_sized(&home, flags, (100, 200), &[CHINESE]);
        terminal.wait_for("Ctrl-D 结束", 1);
        terminal.press("/doctor\r");
        terminal.wait_for("python3: ", 1);
        terminal.wait_until("the prompt", |screen| {
            [">", "有沙箱"].iter().any(|last| screen.trim_end().ends_with(last))
        });
        is_in_chinese(&terminal.screen());
        terminal.press(CTRL_D);
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
    }
}

#[test]
fn what_cannot_be_done_in_a_session_is_said_in_its_language() {
    for flags in [&["--plain"][..], &[]] {
        let home = Home::new(json!([{"text": "好的。"}]));
        let mut terminal = Terminal::start_sized(&home, flags, (100, 200), &[CHINESE]);
        terminal.wait_for("Ctrl-D 结束", 1);
        for (line, said) in [
            ("/resume nosuch", "错误： 没有会话 `nosuch`"),
            ("/model nosuch", "错误： 没有模型 `nosuch`"),
            ("/model anthropic/m", "错误： anthropic 没有密钥"),
            ("/undo", "没有可以撤销的改动"),
            ("/redo", "错误： 没有可以重做的撤销"),
            ("/nosuch", "没有命令 /nosuch"),
            ("/theme nosuch", "可选：auto"),
            ("/cost", "尚未向模型发出请求"),
            ("/changes", "本会话没有改动"),
            ("/diff", "本会话没有改动"),
            ("/rewind", "没有可以回退的轮次"),
            ("/compact", "目前没有可以缩短的内容"),
        ] {
            let before = terminal.screen().matches(said).count();
            terminal.press(&format!("{line}\r"));
            terminal.wait_for(said, before + 1);
        }
        is_in_chinese(&terminal.screen());
        terminal.wait_until("the prompt", |screen| {
            [">", "有沙箱"].iter().any(|last| screen.trim_end().ends_with(last))
        });
        terminal.press(CTRL_D);
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
    }
}

#[test]
fn what_the_model_is_told_of_an_undo_is_noted_in_the_sessions_language() {
    let write = json!({"name": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}});
    for flags in [&["--plain"][..], &[]] {
        let turns = json!([{"calls": [write]}, {"text": "写好了。"}, {"text": "知道了。"}]);
        let home = Home::new(turns);
        let mut terminal = Terminal::start_sized(&home, flags, (100, 200), &[CHINESE]);
        terminal.wait_for("Ctrl-D 结束", 1);
        terminal.press("写文件\r");
        terminal.wait_for("完成 · 2 步", 1);
        terminal.press("/undo\r");
        terminal.wait_for("已撤销：", 1);
        terminal.press("继续\r");
        terminal.wait_for("[undo] 已告诉模型：以下调用的改动已撤销", 1);
        terminal.wait_for("完成 · 1 步", 1);
        is_in_chinese(&terminal.screen());
        terminal.press(CTRL_D);
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
    }
}

/// Runs the program and sees that it says `said`, and nothing in English that is in the table.
#[track_caller]
fn says(place: &Place, arguments: &[&str], status: i32, said: &str) {
    let run = Run::of(place.tenon(arguments).envs([CHINESE]).output().unwrap());
    let all = format!("{}{}", run.out, run.error);
    assert!(run.status == status && all.contains(said), "{arguments:?}: {said}: {run:?}");
    is_in_chinese(&all);
}

fn place_with_a_session() -> (Place, String) {
    let place = Place::new();
    let write = json!({"name": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}});
    let script = place.script(json!([
        {"text": "好的。", "calls": [write]},
        {"calls": [{"name": "bash", "arguments": {"command": "mkdir new; echo two | tee new/b.txt"}}]},
        {"text": "写好了。"},
    ]));
    let arguments = ["--model", &script, "--allow", "bash", "写文件"];
    let first = Run::of(place.tenon(&arguments).envs([CHINESE]).output().unwrap()).ends_with(0);
    assert!(first.out.contains("新建 1 个"), "{first:?}");
    is_in_chinese(&format!("{}{}", first.out, first.error));
    (place, script)
}

#[test]
fn the_subcommands_speak_the_language_of_the_locale() {
    let (place, _) = place_with_a_session();
    let check = |arguments: &[&str], status, said| says(&place, arguments, status, said);
    check(&["permissions", "check", "make"], 0, "allow：其中没有需要询问的内容\n规则：mode: auto");
    check(&["permissions", "check", "git push -f"], 1, "ask：它会覆盖或删除服务器上的历史：git");
    check(&["permissions", "check", "rm -rf /"], 1, "系统或账户离不开它；任何规则都不能允许");
    check(
        &["permissions", "check", "vim x"],
        1,
        "deny：不支持交互式命令：`vim x`。可以改用：write_file",
    );
    check(&["permissions", "check", "sudo ls"], 1, "如果允许，将在沙箱之外运行\n建议： --allow");
    check(&["permissions", "check", "--mode", "read-only", "make"], 1, "只运行确定只读取的命令");
    check(&["permissions", "check", "--tool", "read_file", "/etc/hosts"], 1, "读取工作区之外");
    check(&["permissions", "check", "--tool", "nosuch", "a"], 2, "没有工具 nosuch");
    check(&["permissions", "list"], 0, "毁坏系统的操作");
    check(&["cost", "last"], 0, "合计");
    check(&["sessions", "--search", "写"], 0, "提示：写文件");
    check(&["sessions", "prune", "--to-size", "0"], 0, "提示： 没有 --yes 不会删除任何内容");
    check(&["sessions", "prune", "--older-than", "8w"], 0, "0 个会话，0 kB");
    check(&["sessions", "name", "last", "a\nb"], 2, "无法给会话命名");
    check(&["sessions", "delete", "nosuch"], 2, "没有会话 `nosuch`");
    check(&["show", "last"], 0, "写好了");
    check(&["export", "last", "-o", "none/a"], 1, "无法写入");
    check(&["export", "last", "--bundle", "b.tar.gz"], 0, "");
    check(&["replay", "last"], 0, "已重放 3 步、2 个调用：与记录没有差异");
    check(&["replay", "a.txt"], 2, "a.txt 不是可以重放的包");
    check(&["replay", "b.txt"], 2, "没有会话 `b.txt`");
    check(&["changes", "--diff"], 0, "新建");
    check(&["changes", "--usage"], 0, "个检查点");
    check(&["undo"], 0, "已撤销");
    check(&["redo"], 0, "已重做");
    check(&["redo"], 1, "没有可以重做的撤销");
    check(&["restore", "last", "--to", "nosuch"], 2, "没有步骤或调用 `nosuch`");
    check(&["models", "list"], 0, "没有密钥：未配置");
    check(&["hello", "sessions"], 2, "写在此命令之前的内容在那里不起作用");
}

#[test]
fn what_ends_the_program_is_said_in_the_language_of_the_locale() {
    let (place, script) = place_with_a_session();
    let wrong = |arguments: &[&str], said| says(&place, arguments, 2, said);
    let with_model = |arguments: &[&str], said: &str| {
        says(&place, &[&["--model", &script], arguments].concat(), 2, said);
    };
    wrong(&["hello"], "错误： 未配置模型\n建议： 设置 ANTHROPIC_API_KEY");
    wrong(&["--model", "nosuch", "hello"], "没有模型 `nosuch`");
    wrong(&["--model", "scripted:none", "hello"], "无法读取");
    wrong(&["--model-file", "none", "hello"], "没有文件");
    wrong(&["--model", "gpt-5", "--model-file", "a", "hello"], "--model-file 只能与");
    wrong(&["--max-cost", "0", "hello"], "`--max-cost <USD>` 的值 `0` 无效：大于 0 的数");
    wrong(&["--max-time", "soon", "hello"], "大于 0 的时间");
    wrong(&["--max-steps", "0", "hello"], "0 不在 1..");
    wrong(&["sessions", "prune", "--to-size", "big"], "大小，例如 500MB");
    with_model(&[], "没有提示");
    with_model(&["hello", "run", "hello"], "有两个提示");
    with_model(&["--allow", "bash(", "hello"], "`bash(` 不是规则：规则 `bash(` 的匹配式");
    with_model(&["--net", "a..b", "hello"], "`a..b` 不是 --net 可用的主机：主机名中有一部分是空的");
    with_model(&["--cwd", "none", "hello"], "无法打开工作区：没有这个文件或文件夹");
    with_model(&["--image", "none.png", "hello"], "无法打开文件 none.png");
    with_model(&["--resume", "nosuch", "hello"], "没有会话 `nosuch`");
    with_model(&["--resume", "a", "--continue", "hello"], "指了两个会话");
    with_model(&["--resume", "--", "hello"], "没有可供选择的终端");
    with_model(&["--fork", "hello"], "需要一个要继续的会话");
    with_model(&["--max-cost", "1", "hello"], "的价格未知");
}

#[test]
fn what_is_wrong_with_configuration_is_said_in_the_language_of_the_locale() {
    let (place, script) = place_with_a_session();
    let check = |config: &str, status, said| {
        place.config(config);
        says(&place, &["--model", &script, "hello"], status, said);
    };
    check("modle = 'a'", 0, "config.toml：没有设置 `modle`，已忽略");
    check("max_steps = 'many'", 2, "docs/configuration.md 列出所有设置");
    check("mode = 'unconfined'", 2, "--sandbox off 在没有沙箱的情况下运行命令");
    check("allow = ['1 x']", 2, "`1 x` 不是规则：规则以工具名开头");
    check("add_dir = ['here']", 2, "`here` 既不以 / 也不以 ~/ 开头");
    check("read_dir = ['~/none']", 2, "无法使用：没有这个文件或文件夹：");
    check("[providers.x]\nkind = 'openai'", 2, "config.toml：[providers.x] 需要 base_url");
    check("[providers.x]\nbase_url = 'a'", 2, "[providers.x] 需要 kind");
    place.write("work/.tenon/config.toml", "model = 'a'\nmax_steps = 100000");
    std::os::unix::fs::symlink("/etc/passwd", place.path("work/AGENTS.md")).unwrap();
    check("", 0, "`model` 不从项目的文件中采用：它应写在用户自己的文件中");
    check("", 0, "`max_steps` 不从项目的文件中采用：它只能比用户的设置更严格");
    check("", 0, "未读取说明：路径在工作区之外：AGENTS.md");
}

#[test]
fn what_a_server_refuses_is_said_in_the_language_of_the_locale() {
    let place = Place::new();
    let refusal = json!({"error": {"message": "no such key", "type": "authentication_error"}});
    let server = FakeServer::start(vec![Reply::status(401).json(refusal)]);
    let mut command = place.tenon(&["--model", "openai/m", "hello"]);
    command.envs([CHINESE, ("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", &server.url())]);
    let run = Run::of(command.output().unwrap()).ends_with(1);
    let all = format!("{}{}", run.out, run.error);
    for said in ["返回 401：no such key", "建议： 检查 OPENAI_API_KEY 中的密钥"] {
        assert!(all.contains(said), "{said}: {all}");
    }
    is_in_chinese(&all);
}
