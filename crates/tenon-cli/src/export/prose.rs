//! What a model wrote, as HTML: the Markdown that the screen shows, with the same reader. An address
//! stays text beside its words, so that nobody is led elsewhere by what a model named it.

use crate::render::{
    Meaning, Piece,
    line::Line,
    markdown::{Block, blocks, inline},
};

/// Levels that the page keeps for itself: its title and who speaks.
const HEADINGS_ABOVE: usize = 2;
const HEADING_MAX: usize = 6;

/// Blocks so far.
#[derive(Debug, Default)]
struct Page {
    html: String,
    /// The lists that more may be added to, from the outermost.
    lists: Vec<List>,
}

#[derive(Debug, PartialEq)]
struct List {
    depth: usize,
    tag: &'static str,
}

/// Returns `markdown` as blocks of a page.
pub(super) fn prose(markdown: &str) -> String {
    let mut page = Page::default();
    for block in blocks(markdown) {
        page.block(&block);
    }
    page.end_lists(0);
    page.html
}

impl Page {
    fn block(&mut self, block: &Block) {
        let is_in_item = matches!(block, Block::Code { is_in_item: true, .. } | Block::Item { .. });
        if !is_in_item {
            self.end_lists(0);
        }
        self.html.push_str(&match block {
            Block::Item { depth, marker, text } => return self.item(*depth, marker, text),
            Block::Heading { level, text } => {
                let tag = format!("h{}", (level + HEADINGS_ABOVE).min(HEADING_MAX));
                format!("<{tag}>{}</{tag}>\n", emphasised(text))
            }
            Block::Paragraph(text) => format!("<p>{}</p>\n", emphasised(text)),
            Block::Quote(text) => format!("<blockquote>{}</blockquote>\n", emphasised(text)),
            Block::Table { has_head, rows } => table(*has_head, rows),
            Block::Code { lines, .. } => code(lines),
            Block::Rule => "<hr>\n".to_owned(),
        });
    }

    fn item(&mut self, depth: usize, marker: &str, text: &str) {
        let number: Option<usize> = marker.strip_suffix('.').and_then(|digits| digits.parse().ok());
        let list = List { depth, tag: if number.is_some() { "ol" } else { "ul" } };
        self.end_lists(depth + 1);
        match self.lists.last() {
            Some(last) if *last == list => self.html.push_str("</li>\n"),
            Some(last) if last.depth == depth => {
                self.end_lists(depth);
                self.begin(list, number);
            }
            _ => self.begin(list, number),
        }
        // The browser draws bullets and numbers; a box is the writer's.
        let drawn = if number.is_some() || marker == "•" { "" } else { marker };
        let room = if drawn.is_empty() { "" } else { " " };
        self.html.push_str(&format!("<li>{drawn}{room}{}", emphasised(text)));
    }

    fn begin(&mut self, list: List, number: Option<usize>) {
        let tag = list.tag;
        self.html.push_str(&match number.filter(|first| *first != 1) {
            Some(first) => format!("<{tag} start=\"{first}\">\n"),
            None => format!("<{tag}>\n"),
        });
        self.lists.push(list);
    }

    /// Ends the lists from `depth` on.
    fn end_lists(&mut self, depth: usize) {
        while let Some(list) = self.lists.pop_if(|list| list.depth >= depth) {
            self.html.push_str(&format!("</li>\n</{}>\n", list.tag));
        }
    }
}

fn table(has_head: bool, rows: &[Vec<String>]) -> String {
    let mut html = "<div class=\"table\"><table>\n".to_owned();
    for (place, row) in rows.iter().enumerate() {
        let tag = if has_head && place == 0 { "th" } else { "td" };
        let cell = |cell: &String| format!("<{tag}>{}</{tag}>", emphasised(cell));
        html.push_str(&format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>()));
    }
    html + "</table></div>\n"
}

fn code(lines: &[Line]) -> String {
    let mut html = "<pre>\n".to_owned();
    for line in lines {
        for piece in line.pieces() {
            let class = match piece.meaning {
                Meaning::Keyword => "word",
                Meaning::Literal => "literal",
                Meaning::Aside | Meaning::Hint => "place",
                Meaning::Done => "came",
                Meaning::Error => "went",
                _ => "",
            };
            let text = escaped(&piece.text);
            html.push_str(&match class {
                "" => text,
                class => format!("<span class=\"{class}\">{text}</span>"),
            });
        }
        html.push('\n');
    }
    html + "</pre>\n"
}

/// Returns the text of a block with its emphasis and its line breaks.
fn emphasised(text: &str) -> String {
    let line = |line: &Line| line.pieces().iter().map(tagged).collect::<String>();
    inline(text, Meaning::Plain).iter().map(line).collect::<Vec<_>>().join("<br>\n")
}

fn tagged(piece: &Piece) -> String {
    let text = escaped(&piece.text);
    match piece.meaning {
        Meaning::Name => format!("<b>{text}</b>"),
        Meaning::Emphasis => format!("<i>{text}</i>"),
        Meaning::Struck => format!("<s>{text}</s>"),
        // The address of a link, as the reader of emphasis puts it.
        Meaning::Hint if text.starts_with(" (") => format!("<span class=\"place\">{text}</span>"),
        Meaning::Hint => format!("<code>{text}</code>"),
        _ => text,
    }
}

/// Returns `text` as text of a page, also in an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn what_a_model_wrote_is_markup_of_the_page_and_what_it_means_by_signs_alone() {
        let cases = [
            ("# A\n#### B", "<h3>A</h3>\n<h6>B</h6>\n"),
            ("a\nb  \nc *d*", "<p>a b<br>\nc <i>d</i></p>\n"),
            ("**a** ~~b~~ `<c>`", "<p><b>a</b> <s>b</s> <code>&lt;c&gt;</code></p>\n"),
            (
                "[x](javascript:alert`1`)",
                "<p>x<span class=\"place\"> (javascript:alert`1`)</span></p>\n",
            ),
            (
                "- a\n  - [x] b\n- c\n3. d\n\ne",
                "<ul>\n<li>a<ul>\n<li>☑ b</li>\n</ul>\n</li>\n<li>c</li>\n</ul>\n\
                 <ol start=\"3\">\n<li>d</li>\n</ol>\n<p>e</p>\n",
            ),
            (
                "1. a\n   ```rs\n   let b;\n   ```\n2. c",
                "<ol>\n<li>a<pre>\n<span class=\"word\">let</span> b;\n</pre>\n</li>\n<li>c</li>\n</ol>\n",
            ),
            ("    - deep\n- flat", "<ul>\n<li>deep</li>\n</ul>\n<ul>\n<li>flat</li>\n</ul>\n"),
            (
                "|<a>|b|\n|-|-|\n|汉|**d**|",
                "<div class=\"table\"><table>\n<tr><th>&lt;a&gt;</th><th>b</th></tr>\n\
                 <tr><td>汉</td><td><b>d</b></td></tr>\n</table></div>\n",
            ),
            ("> a\n> b\n\n---", "<blockquote>a<br>\nb</blockquote>\n<hr>\n"),
            ("<b onclick=x>", "<p>&lt;b onclick=x&gt;</p>\n"),
        ];
        for (markdown, expected) in cases {
            assert_eq!(prose(markdown), expected, "{markdown}");
        }
    }
}
