//! What calls did to files, in one line: the sandbox says it in English, as parts with commas
//! between them, for the model and the log; people read it in their language.

use std::borrow::Cow;

use super::{Language, Text, library::values};

texts! {
    "link {path} -> {target} (outside)", "链接 {path} -> {target}（在外部）";
    "{n} more link to outside", "另有 {n} 个指向外部的链接";
    "{n} more links to outside", "另有 {n} 个指向外部的链接";
    "{n} file changed", "改动 {n} 个文件";
    "{n} files changed", "改动 {n} 个文件";
    "{n} deleted", "删除 {n} 个";
    "{n} renamed", "改名 {n} 个";
    "{n} of them over what was there", "其中 {n} 个取代了原有的";
    "{n} with other permissions", "{n} 个权限有变";
    "{n} new", "新建 {n} 个";
    "{n} new empty folder", "新建 {n} 个空文件夹";
    "{n} new empty folders", "新建 {n} 个空文件夹";
    "{n} new in {folders} new folders", "在 {folders} 个新文件夹中新建 {n} 个";
    "{n} new under {path}/", "在 {path}/ 中新建 {n} 个";
    "{path} not recorded (a cache)", "{path} 未记录（缓存）";
    "{path} not recorded (outside the workspace)", "{path} 未记录（在工作区之外）";
    "{path} not recorded (no copy of it)", "{path} 未记录（没有副本）";
    "{n} more not recorded (or not compared)", "另有 {n} 处未记录（或未比较）";
    "{path} not recorded ({size})", "{path} 未记录（{size}）";
    "{path} and more not compared (too many files)", "{path} 等未比较（文件太多）";
    "{path} not compared where paths are too long", "{path} 中路径过长之处未比较";
    "a change of {path} was refused: it could not be saved", "拒绝了对 {path} 的改动：无法保存它";
    "a change was refused: it could not be saved", "拒绝了一处改动：无法保存它";
    "a change of {path} was refused: there is no room to save it for undo", "拒绝了对 {path} 的改动：没有空间为撤销保存它";
    "a change was refused: there is no room to save it for undo", "拒绝了一处改动：没有空间为撤销保存它";
    "a change of {path} was refused: the rule {rule} forbids it", "拒绝了对 {path} 的改动：规则 {rule} 禁止它";
    "opening {path} for writing was refused: the rule {rule} forbids it", "拒绝了以写入方式打开 {path}：规则 {rule} 禁止它";
    "a change of {path} was refused: a rule may forbid it for something in it", "拒绝了对 {path} 的改动：可能有规则禁止改动其中的内容";
    "{n} more change refused", "另有 {n} 处改动被拒绝";
    "{n} more changes refused", "另有 {n} 处改动被拒绝";
    "{path} was moved: nothing of it is undone until it is back", "{path} 已被移走：在它回到原处之前，其中的改动都无法撤销";
    "the list may be incomplete", "列表可能不完整";
    "by comparison", "通过比较得出";
    "it ran outside the walls: what it changed is not known and cannot be undone", "它在沙箱之外运行：改动了什么不得而知，也无法撤销";
}

/// Returns the summary of a call's changes in a language; in English if any part has no row.
pub(crate) fn summary(said: &str, language: Language) -> Cow<'_, str> {
    if language == Language::English || said.is_empty() {
        return Cow::Borrowed(said);
    }
    let part = |part| {
        ROWS.iter().find_map(|text| Some(text.say_with(language, &values(text.english, part)?)))
    };
    let parts: Option<Vec<String>> = said.split(", ").map(part).collect();
    parts.map_or(Cow::Borrowed(said), |parts| Cow::Owned(parts.join("，")))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tenon_sandbox::{Changes, LeftOut, LeftOutReason, LinkOut, Trouble};

    use super::*;

    #[test]
    fn every_part_of_a_summary_has_a_row() {
        let check = |said: &str, chinese| assert_eq!(summary(said, Language::Chinese), chinese);
        check("", "");
        check(
            "2 files changed, 1 deleted, 3 new under a/",
            "改动 2 个文件，删除 1 个，在 a/ 中新建 3 个",
        );
        check("1 new, words of another version", "1 new, words of another version");
        let left_out = [
            LeftOutReason::Cache,
            LeftOutReason::TooLarge { bytes: 5 },
            LeftOutReason::TooLarge { bytes: 5_000_000 },
            LeftOutReason::Outside,
            LeftOutReason::TooMany,
            LeftOutReason::NotCopied,
            LeftOutReason::TooLong,
        ]
        .map(|reason| LeftOut { path: PathBuf::from("x"), reason });
        for left_out in left_out {
            let changes = Changes { left_out: vec![left_out], ..Changes::default() };
            let said = changes.summary();
            assert_ne!(summary(&said, Language::Chinese), said);
        }
        let path = |number: usize| PathBuf::from(format!("{number}/{}", "x".repeat(4_000)));
        let too_long = |path| LeftOut { path, reason: LeftOutReason::TooLong };
        let left_out = (0..300).map(path).map(too_long).collect();
        let said = Changes { left_out, ..Changes::default() }.summary();
        assert!(said.chars().count() < 3_000, "{said}");
        assert!(summary(&said, Language::Chinese).ends_with("，另有 290 处未记录（或未比较）"));
        let refused = |path: &str| Trouble::Refused { path: path.into(), code: 5 };
        let forbidden = |rule: &str, reads| {
            let (path, rule) = ("x".into(), rule.to_owned());
            Trouble::Forbidden { path, rule, reads }
        };
        for trouble in [
            Trouble::Interrupted,
            Trouble::NotWatched,
            refused("x"),
            refused(""),
            forbidden("write(x)", false),
            forbidden("write(x)", true),
            forbidden("", false),
            Trouble::Moved("/x".into()),
        ] {
            let said = Changes { troubles: vec![trouble.clone()], ..Changes::default() }.summary();
            assert_ne!(summary(&said, Language::Chinese), said);
            let several = vec![trouble, refused("y"), refused("z"), refused("u"), refused("v")];
            let said = Changes { troubles: several, ..Changes::default() }.summary();
            assert_ne!(summary(&said, Language::Chinese), said);
        }
        for links_more in 0..3 {
            let links = vec![LinkOut { path: "x".into(), target: "/y".into() }];
            let said = Changes { links, links_more, ..Changes::default() }.summary();
            assert_ne!(summary(&said, Language::Chinese), said);
        }
    }
}
