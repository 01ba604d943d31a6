//! Commands that stand in the arguments of a program: as words, as the text of one, or as the value of
//! an option.

use super::SimpleCommand;
use super::arguments::{Launched, skip_options};
use super::settings;
use super::word::Word;

pub(super) fn run(text: &Word) -> Launched {
    settings::of_text(text, true)
}

pub(super) fn aside(launched: Launched) -> Launched {
    match launched {
        Launched::Aside(_) | Launched::Unknown => launched,
        other => Launched::Aside(Box::new(other)),
    }
}

/// Returns the command that these words are. What is not known in front may be the value of an option
/// that is not known here.
pub(super) fn line(words: &[Word]) -> Vec<Launched> {
    if let Some(first) = words.first().filter(|first| first.program().is_none()) {
        return vec![Launched::Perhaps { text: first.clone(), is_given: false }];
    }
    // Some give a single word to a shell, and no program has such a name.
    if let [text] = words
        && text.literal().is_some_and(|text| text.contains(' '))
    {
        return vec![run(text)];
    }
    let words = words.to_vec();
    let command = |words| Launched::Command(SimpleCommand { words, ..Default::default() });
    if words.is_empty() { Vec::new() } else { vec![command(words)] }
}

/// Returns the values of options: the next word, or what follows in the same one. A short one may
/// end a row of letters.
pub(super) fn values(arguments: &[Word], options: &[&str], in_rows: bool) -> Vec<Word> {
    let mut values = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let text = word.prefix();
        if word.literal() == Some("--") {
            break;
        }
        let is_row = |option: &str| {
            let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
            in_rows && !text.starts_with("--") && letter.is_some_and(|it| text.ends_with(it))
        };
        for option in options {
            let is_it = word.literal() == Some(option) || text.starts_with('-') && is_row(option);
            if is_it {
                values.extend(arguments.get(index + 1).cloned());
            } else if let Some(value) = match option.starts_with("--") {
                true => word.strip_prefix(&format!("{option}=")),
                false => word.strip_prefix(option).filter(|_| text.len() > option.len()),
            } {
                values.push(value);
            }
        }
    }
    values
}

/// Returns the command that stands behind one of these words, up to `;`.
pub(super) fn behind(arguments: &[Word], options: &[&str]) -> Vec<Launched> {
    let is_one = |word: &Word| word.literal().is_some_and(|text| options.contains(&text));
    let Some(at) = arguments.iter().position(is_one) else { return Vec::new() };
    let rest = arguments.get(at + 1..).unwrap_or_default();
    let end = rest.iter().position(|word| word.literal() == Some(";")).unwrap_or(rest.len());
    let rest = rest.get(..end).unwrap_or_default();
    // `ip netns exec NAME command`
    line(match options {
        ["exec"] => rest.get(1..).unwrap_or_default(),
        _ => skip_options(rest, &[]),
    })
}
