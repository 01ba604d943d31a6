//! What a person is shown of an edit they are asked about: whole lines of the file, as it is and as it would
//! be. A fragment does not say what it makes of its line: without two characters a comment is code.

use std::{borrow::Cow, path::Path};

use serde_json::Value;
use tenon_sandbox::programs_set;

use crate::{
    policy::ProposedCall,
    tools::{AnyTool, text_file::readable, whole_lines},
};

/// A call as the question shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownCall {
    pub arguments: Value,
    /// Settings with which git would run a program from then on.
    pub programs_set: Vec<String>,
}

impl ShownCall {
    /// Returns `call` to a tool as it is shown, if the file at `path` that it would write holds `held`.
    pub(super) fn of(
        tool: &dyn AnyTool,
        call: &ProposedCall,
        path: &str,
        held: Option<Cow<'_, [u8]>>,
    ) -> Self {
        let whole = held.and_then(|held| Self::in_whole_lines(tool, &call.arguments, path, &held));
        let as_it_is = || Self { arguments: call.arguments.clone(), programs_set: Vec::new() };
        whole.unwrap_or_else(as_it_is)
    }

    /// Returns `arguments` with whole lines in the place of the texts of an edit of the file at `path`, which
    /// holds `held`: all that differ, with two lines around them. `None` where the arguments say it all.
    fn in_whole_lines(
        tool: &dyn AnyTool,
        arguments: &Value,
        path: &str,
        held: &[u8],
    ) -> Option<Self> {
        let would_hold = tool.would_hold(arguments, held)?;
        let text = |bytes: &[u8]| {
            readable(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let (old, new) = whole_lines(&text(held), &text(&would_hold));
        let mut arguments = arguments.clone();
        let named = arguments.as_object_mut()?;
        // Each place is among the lines.
        named.remove("replace_all");
        named.insert("old_text".to_owned(), old.into());
        named.insert("new_text".to_owned(), new.into());
        let programs_set = programs_set(Path::new(path), held, &would_hold);
        Some(Self { arguments, programs_set })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{CoreToolOptions, core_tools};

    /// Edits a file that holds `held` and compares the lines that are shown.
    fn check(held: &str, edit: &Value, shown: Option<(&str, &str)>) {
        let tools = core_tools(CoreToolOptions::default());
        let tool = tools.get("edit_file").unwrap();
        let expected =
            shown.map(|(old, new)| json!({"path": "a", "old_text": old, "new_text": new}));
        let found = ShownCall::in_whole_lines(tool.as_ref(), edit, "a", held.as_bytes());
        assert_eq!(found.map(|shown| shown.arguments), expected, "{edit}");
    }

    #[test]
    fn an_edit_is_shown_in_whole_lines_with_some_around() {
        let edit = |old_text: &str, new_text: &str, replace_all: bool| {
            json!({"path": "a", "old_text": old_text, "new_text": new_text,
                "replace_all": replace_all})
        };
        let held = "1\n2\n3\n# once: touch EVIL\n4\n5\n6\n";
        let lines = ("2\n3\n# once: touch EVIL\n4\n5", "2\n3\ntouch EVIL\n4\n5");
        check(held, &edit("# once: ", "", false), Some(lines));
        let lines = ("A=1 touch EVIL", "A=1\ntouch EVIL");
        check("A=1 touch EVIL\n", &edit("A=1 ", "A=1\n", false), Some(lines));
        check("a", &edit("a", "b", false), Some(("a", "b")));
        // What joins two lines, and what only takes away the last line's end.
        check("a#\nb\nc\n", &edit("#\n", "", false), Some(("a#\nb\nc", "ab\nc")));
        check("a\nb\n", &edit("b\n", "b", false), Some(("a\nb\n", "a\nb")));
        // Each place, and all between the first and the last.
        let held = "#a\n1\n2\n3\n4\n5\n6\n#b\n";
        let lines = ("#a\n1\n2\n3\n4\n5\n6\n#b", "a\n1\n2\n3\n4\n5\n6\nb");
        check(held, &edit("#", "", true), Some(lines));
        // No edit is made of these.
        check(held, &edit("#", "", false), None);
        check(held, &edit("x", "", false), None);
    }

    #[test]
    fn settings_of_git_that_come_to_life_are_named() {
        let tools = core_tools(CoreToolOptions::default());
        let tool = tools.get("edit_file").unwrap();
        let held = "[core]\n\t# note: fsmonitor = \"touch EVIL; false\"\n";
        let edit = json!({"path": ".git/config", "old_text": "# note: ", "new_text": ""});
        let found =
            ShownCall::in_whole_lines(tool.as_ref(), &edit, "/w/.git/config", held.as_bytes());
        assert_eq!(found.unwrap().programs_set, ["core.fsmonitor = touch EVIL; false"]);
    }
}
