//! In a Chinese locale nothing is said in English that the table of texts has in Chinese.

use serde_json::json;

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal},
};

const CTRL_D: &str = "\x04";
const CHINESE: (&str, &str) = ("LANG", "zh_CN.UTF-8");
/// Shorter pieces of English may be names, commands or words of a file.
const PIECE_CHARS_MIN: usize = 8;

/// Returns the rows of the table: each English text with its Chinese one.
fn rows() -> Vec<(String, String)> {
    let file = include_str!("../../src/texts.rs");
    let (_, table) = file.split_once("\ntexts! {\n").unwrap();
    let (mut rest, _) = table.split_once("\n}\n").unwrap();
    let mut texts = Vec::new();
    while let Some(start) = rest.find('"') {
        // What is escaped in the table is escaped in the same way in JSON.
        let mut found = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<String>();
        texts.push(found.next().unwrap().unwrap());
        rest = &rest[start + found.byte_offset()..];
    }
    assert!(texts.len() > 500 && texts.len().is_multiple_of(2), "{}", texts.len());
    texts.chunks(2).map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// Returns what stands between the values of an English text and cannot be a name.
fn pieces(english: &str) -> Vec<&str> {
    let parts = english.split('{').map(|part| part.split_once('}').map_or(part, |(_, said)| said));
    let parts = parts.map(|part| part.trim_matches([' ', ',', ';', ':', '(', ')']));
    parts.filter(|part| part.len() >= PIECE_CHARS_MIN && part.contains(' ')).collect()
}

fn is_in_chinese(said: &str) {
    for (english, chinese) in rows() {
        for piece in pieces(&english).into_iter().filter(|piece| !chinese.contains(piece)) {
            assert!(!said.contains(piece), "{english:?} is said in English:\n{said}");
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
