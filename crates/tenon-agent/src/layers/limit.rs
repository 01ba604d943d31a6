//! One limit for what a result shows the model: head and tail are kept, cut at a character
//! boundary, with a note that says how much is left out and where the whole text lies.

use async_trait::async_trait;

use super::layer::{Layer, Rest};
use crate::{
    policy::ApprovedCall,
    tools::{ToolContext, ToolOutput, text_file::counted},
};

/// Cuts results that are longer than a limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// The most characters of a result, the note apart.
    pub chars_max: usize,
}

#[async_trait]
impl Layer for Limit {
    async fn around(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
        rest: Rest<'_>,
    ) -> ToolOutput {
        let mut output = rest.run(call, context).await;
        let Some((head, left_out, tail)) = head_and_tail(&output.content, self.chars_max) else {
            return output;
        };
        let kept = context.workspace.spill_target().map(|target| target.write(&output.content));
        let place = match kept {
            Some(Ok(path)) => format!("the whole text is in {}", path.display()),
            Some(Err(error)) => format!("the whole text could not be kept: {error}"),
            None => "the whole text is not kept".to_owned(),
        };
        let left_out = counted(left_out as u64, "character");
        output.content = format!("{head}\n... ({left_out} left out; {place})\n{tail}");
        output
    }
}

/// Splits `text` into a head of two thirds and a tail of one third of `chars_max` characters,
/// with the number of characters between; `None` if it is short enough.
fn head_and_tail(text: &str, chars_max: usize) -> Option<(&str, usize, &str)> {
    // Bytes are at least characters: the common case needs no count.
    if text.len() <= chars_max {
        return None;
    }
    let chars = text.chars().count();
    if chars <= chars_max {
        return None;
    }
    let tail_chars = chars_max / 3;
    let (head_end, _) = text.char_indices().nth(chars_max - tail_chars)?;
    let tail_start = match tail_chars {
        0 => text.len(),
        n => text.char_indices().nth_back(n - 1)?.0,
    };
    Some((text.get(..head_end)?, chars - chars_max, text.get(tail_start..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_35_head_and_tail_are_cut_at_characters() {
        assert_eq!(head_and_tail("abc", 3), None);
        assert_eq!(head_and_tail("汉字汉", 3), None);
        assert_eq!(head_and_tail("abcdefghij", 3), Some(("ab", 7, "j")));
        assert_eq!(head_and_tail("一二三四五六七八九十", 6), Some(("一二三四", 4, "九十")));
        assert_eq!(head_and_tail("abc", 1), Some(("a", 2, "")));
    }
}
