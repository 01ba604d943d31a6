//! The blocks in which the built-in model speaks, and the grammar that holds it to them.

use tenon_local::{Allowed, Block, Grammar, parse};

use super::{Check, Target, pieces, shape, size};

pub(crate) const TARGET: Target = Target {
    name: "tags",
    promise: "a block that was read is printed and read again unchanged, and the grammar does not mind cuts",
    seeds: &[
        b"<bash>ls -l</bash>",
        b"<read_file path=\"a&quot;b.txt\"/>",
        b"<write_file path=\"a.py\">\nprint('<\\/write_file>')\n</write_file>",
        b"<edit_file path=\"a\">\n<old>x</old>\n<new>y</new>\n</edit_file>",
        b"<grep pattern=\"fn\" path=\"src\"/>",
        b"<glob pattern=\"**/*.rs\"/>",
        b"<answer>done</answer>",
    ],
    words: &[
        "<bash>",
        "</bash>",
        "<\\/bash>",
        "<read_file path=\"",
        "\"/>",
        "<write_file path=\"",
        "\">\n",
        "</write_file>",
        "<edit_file path=\"",
        "<old>",
        "</old>",
        "<new>",
        "</new>",
        "</edit_file>",
        "<grep pattern=\"",
        "\" path=\"",
        "<glob pattern=\"",
        "<answer>",
        "</answer>",
        "&amp;",
        "&quot;",
        "&#10;",
        "&#13;",
        "\\",
        "\n",
        "\"",
        "<",
        "汉",
    ],
    start: || -> Check {
        Box::new(|input| {
            let text = String::from_utf8_lossy(input);
            let block = parse(&text);
            if let Some(block) = &block {
                assert_eq!(
                    parse(&block.print()).as_ref(),
                    Some(block),
                    "printed as {:?}",
                    block.print()
                );
            }
            let whole = Grammar::new(Allowed::All).after(input);
            let cut =
                pieces(input).into_iter().try_fold(Grammar::new(Allowed::All), Grammar::after);
            let state = |grammar: &Grammar| {
                (grammar.is_done(), grammar.in_answer(), grammar.in_code(), grammar.forced())
            };
            let whole = whole.as_ref().map(state);
            assert_eq!(whole, cut.as_ref().map(state), "cut into pieces");
            shape(&(block.as_ref().map(kind), block.map(|block| size(block.print().len())), whole))
        })
    },
};

fn kind(block: &Block) -> String {
    format!("{block:?}").split(' ').next().unwrap_or_default().to_owned()
}
