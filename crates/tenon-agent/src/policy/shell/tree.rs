//! The syntax tree of a script, and whether it can be trusted.
//!
//! tree-sitter-bash was made for editors: it mends what it cannot read and is generous with white
//! space. What an editor may guess, a policy must doubt, so the tree is compared with the text.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// Progress calls (one for about a hundred steps) that the parser gets, plus one for each 4 bytes.
/// Ordinary scripts need less than a tenth of it.
const PROGRESS_MAX: usize = 2_000;

/// Returns the tree of a script; `None` if it takes too long.
pub(super) fn tree(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut left = PROGRESS_MAX + script.len() / 4;
    let mut progress = |_: &ParseState| match left.checked_sub(1) {
        Some(less) => {
            left = less;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    // The C scanner of the grammar crashes on some characters outside ASCII (found by the property
    // tests). To bash all of them are plain text, and so is `%`.
    let bytes: Vec<u8> = script.bytes().map(|b| if b.is_ascii() { b } else { b'%' }).collect();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// Says whether the tree can be what bash sees: only blanks between tokens, and nothing that
/// bash would expand within a token that the grammar took for text.
pub(super) fn agrees(tree: &Tree, script: &str) -> bool {
    let mut cursor = tree.walk();
    let mut end = 0;
    loop {
        let node = cursor.node();
        let whole = matches!(node.kind(), "string" | "raw_string" | "ansi_c_string");
        if node.child_count() == 0 || whole {
            let gap = script.get(end..node.start_byte()).unwrap_or_default();
            if !is_blank(gap) || node.kind() == "comment" {
                return false;
            }
            let text = script.get(node.byte_range()).unwrap_or_default();
            if !whole && node.is_named() && bash_would_expand(text) {
                return false;
            }
            end = node.end_byte().max(end);
        }
        if !words_are_apart(node, script) {
            return false;
        }
        if node.kind() == "string" {
            // Blanks within quotes are text; what is expanded there has tokens of its own.
            if !agrees_in_string(node, script) {
                return false;
            }
        } else if !whole && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return is_blank(script.get(end..).unwrap_or_default());
            }
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

/// Says whether the words of a node have something between them; bash knows no other end of a
/// word. Those of a command are joined by the walk.
fn words_are_apart(node: Node, script: &str) -> bool {
    let lists = [
        "declaration_command",
        "unset_command",
        "for_statement",
        "file_redirect",
        "array",
        "variable_assignments",
        "herestring_redirect",
    ];
    let command = node.kind() == "command";
    let text = script.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        // `!x` is one word.
        "negated_command" => {
            return text.strip_prefix('!').is_some_and(|rest| rest.starts_with([' ', '\t']));
        }
        // `-f2>&1` redirects the output of `-f2`, `$ x` is two words, a test ends with its line.
        "file_descriptor" => return text.chars().all(|c| c.is_ascii_digit()),
        "simple_expansion" => return !text.contains([' ', '\t', '\n']),
        "test_command" => return text.starts_with("[[") || !text.contains('\n'),
        _ => {}
    }
    if !command && !lists.contains(&node.kind()) {
        return true;
    }
    let children = children_of(node);
    // After `=~` the grammar sees a pattern that runs over `;` and `&`, also outside `[[ ]]`.
    if command && children.iter().any(|child| child.kind() == "regex") {
        return false;
    }
    children.iter().zip(children.iter().skip(1)).all(|(left, right)| {
        let assigned = left.kind() == "variable_assignment";
        left.end_byte() < right.start_byte()
            || !(assigned || is_word(left.kind()) && !command)
            || !(is_word(right.kind()) || right.kind() == "command_name")
    })
}

fn agrees_in_string(node: Node, script: &str) -> bool {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        let text = script.get(node.byte_range()).unwrap_or_default();
        let leaf = node.child_count() == 0;
        if leaf && node.is_named() && node.kind() != "raw_string" && bash_would_expand(text) {
            return false;
        }
        if node.kind() != "ansi_c_string" {
            pending.extend(children_of(node));
        }
    }
    true
}

fn bash_would_expand(text: &str) -> bool {
    let mut escaped = false;
    let mut before = ' ';
    for character in text.chars() {
        match character {
            _ if escaped => {
                escaped = false;
                before = ' ';
                continue;
            }
            '\\' => escaped = true,
            '`' => return true,
            '(' if matches!(before, '$' | '<' | '>') => return true,
            _ => {}
        }
        before = character;
    }
    false
}

pub(super) fn named_children(node: Node) -> Vec<Node> {
    node.named_children(&mut node.walk()).collect()
}

pub(super) fn children_of(node: Node) -> Vec<Node> {
    node.children(&mut node.walk()).collect()
}

/// Says whether a node is a word or a part of one.
pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "concatenation"
            | "expansion"
            | "simple_expansion"
            | "number"
            | "arithmetic_expansion"
            | "process_substitution"
            | "brace_expression"
            | "command_substitution"
            | "array"
    )
}
