//! Known models: window, output limit, price, abilities, as data.
//!
//! A model that is not here gets [`Abilities::default`]. Prices stand here only where the vendor's
//! own list was read, and hold only on the vendor's own server.

use crate::provider::{Abilities, Price};

/// The largest model, in billions of parameters, that is treated as a small one.
const SMALL_PARAMETERS_MAX: f64 = 4.0;

/// One family of models.
struct Entry {
    /// What the names begin with; the longest that fits counts.
    prefix: &'static str,
    context_window_tokens: u32,
    output_tokens_max: u32,
    sees_images: bool,
    /// Input, output, cache read and cache write in dollars per million tokens.
    price: Option<[f64; 4]>,
}

const fn entry(prefix: &'static str, context_window_tokens: u32, output_tokens_max: u32) -> Entry {
    Entry { prefix, context_window_tokens, output_tokens_max, sees_images: false, price: None }
}

impl Entry {
    const fn sees(self) -> Self {
        Self { sees_images: true, ..self }
    }

    const fn price(self, input: f64, output: f64, cache_read: f64, cache_write: f64) -> Self {
        Self { price: Some([input, output, cache_read, cache_write]), ..self }
    }
}

/// The servers on which a family's prices hold: the vendors' own.
const PRICED_HOSTS: [(&str, &[&str]); 2] =
    [("api.anthropic.com", &["claude"]), ("api.openai.com", &["gpt", "o1", "o3", "o4"])];

/// Figures of Anthropic: platform.claude.com/docs, pages Pricing and those of the models, read in
/// November 2026 (cache writes for five minutes; Haiku 5.5 costs more for long prompts, so it has
/// no price here). Of OpenAI: developers.openai.com/api/docs, pages of the models; prices, standard
/// tier, only of models that cost the same whatever the prompt's length, as of early 2026. Of
/// DeepSeek: api-docs.deepseek.com, Models & Pricing, November 2026; its prices change with the
/// hour, so none. Of GLM: docs.z.ai; of Qwen: the models' cards.
const ENTRIES: &[Entry] = &[
    entry("claude", 200_000, 32_000).sees(),
    entry("claude-fable-5-1", 1_000_000, 128_000).sees().price(10.0, 50.0, 0.25, 12.5),
    entry("claude-fable-5", 1_000_000, 128_000).sees().price(10.0, 50.0, 1.0, 12.5),
    entry("claude-opus-5-5", 1_000_000, 128_000).sees().price(4.0, 20.0, 0.2, 5.0),
    entry("claude-opus-5", 1_000_000, 128_000).sees().price(5.0, 25.0, 0.5, 6.25),
    entry("claude-opus-4-8", 1_000_000, 128_000).sees().price(5.0, 25.0, 0.5, 6.25),
    entry("claude-opus-4-7", 1_000_000, 128_000).sees().price(5.0, 25.0, 0.5, 6.25),
    entry("claude-opus-4-6", 1_000_000, 128_000).sees().price(5.0, 25.0, 0.5, 6.25),
    entry("claude-sonnet-5-5", 1_000_000, 128_000).sees().price(2.0, 10.0, 0.1, 2.5),
    entry("claude-sonnet-5", 1_000_000, 128_000).sees().price(2.0, 10.0, 0.2, 2.5),
    entry("claude-sonnet-4-6", 1_000_000, 128_000).sees().price(3.0, 15.0, 0.3, 3.75),
    entry("claude-haiku-5-5", 1_000_000, 128_000).sees(),
    entry("claude-opus-4-5", 200_000, 64_000).sees().price(5.0, 25.0, 0.5, 6.25),
    entry("claude-opus-4-1", 200_000, 32_000).sees().price(15.0, 75.0, 1.5, 18.75),
    entry("claude-opus-4-0", 200_000, 32_000).sees().price(15.0, 75.0, 1.5, 18.75),
    entry("claude-opus-4-20250514", 200_000, 32_000).sees().price(15.0, 75.0, 1.5, 18.75),
    entry("claude-sonnet-4-5", 200_000, 64_000).sees().price(3.0, 15.0, 0.3, 3.75),
    entry("claude-sonnet-4-0", 200_000, 64_000).sees().price(3.0, 15.0, 0.3, 3.75),
    entry("claude-sonnet-4-20250514", 200_000, 64_000).sees().price(3.0, 15.0, 0.3, 3.75),
    entry("claude-haiku-4-5", 200_000, 64_000).sees().price(1.0, 5.0, 0.1, 1.25),
    entry("claude-3-7-sonnet", 200_000, 64_000).sees().price(3.0, 15.0, 0.3, 3.75),
    entry("claude-3-5-haiku", 200_000, 8_192).sees().price(0.8, 4.0, 0.08, 1.0),
    entry("claude-3-haiku", 200_000, 4_096).sees(),
    entry("gpt-6-sol", 1_050_000, 128_000).sees(),
    entry("gpt-6.1-sol", 1_050_000, 128_000).sees(),
    entry("gpt-5.6", 1_050_000, 128_000).sees(),
    entry("gpt-5", 400_000, 128_000).sees().price(1.25, 10.0, 0.125, 1.25),
    entry("gpt-5-mini", 400_000, 128_000).sees().price(0.25, 2.0, 0.025, 0.25),
    entry("gpt-5-nano", 400_000, 128_000).sees().price(0.05, 0.4, 0.005, 0.05),
    entry("gpt-5-pro", 400_000, 272_000).sees(),
    entry("gpt-5.1", 400_000, 128_000).sees().price(1.25, 10.0, 0.125, 1.25),
    entry("gpt-5.2", 400_000, 128_000).sees().price(1.75, 14.0, 0.175, 1.75),
    entry("gpt-4.1", 1_047_576, 32_768).sees().price(2.0, 8.0, 0.5, 2.0),
    entry("gpt-4.1-mini", 1_047_576, 32_768).sees().price(0.4, 1.6, 0.1, 0.4),
    entry("gpt-4.1-nano", 1_047_576, 32_768).sees().price(0.1, 0.4, 0.025, 0.1),
    entry("gpt-4o", 128_000, 16_384).sees().price(2.5, 10.0, 1.25, 2.5),
    entry("gpt-4o-mini", 128_000, 16_384).sees().price(0.15, 0.6, 0.075, 0.15),
    entry("gpt-oss", 131_072, 131_072),
    entry("o3", 200_000, 100_000).sees().price(2.0, 8.0, 0.5, 2.0),
    entry("o3-mini", 200_000, 100_000).price(1.1, 4.4, 0.55, 1.1),
    entry("o4-mini", 200_000, 100_000).sees().price(1.1, 4.4, 0.275, 1.1),
    entry("deepseek", 128_000, 8_192),
    entry("deepseek-flash", 1_000_000, 384_000).sees(),
    entry("deepseek-v4-pro", 1_000_000, 384_000),
    entry("qwen2.5", 32_768, 8_192),
    entry("qwen2.5-coder", 32_768, 8_192),
    entry("qwen3", 32_768, 8_192),
    entry("qwen3-coder", 262_144, 65_536),
    entry("glm-4.5", 131_072, 98_304),
    entry("glm-4.5v", 65_536, 16_384).sees(),
    entry("glm-4.6", 200_000, 131_072),
    entry("glm-4.7", 200_000, 131_072),
];

/// Returns what is known of the model `name` on the server `host`. A vendor in front of the name
/// (`anthropic/claude-…`, as routers write it) and upper case do not matter.
pub fn abilities(name: &str, host: &str) -> Abilities {
    let name = name.rsplit('/').next().unwrap_or_default().to_lowercase();
    let small = is_small(&name);
    let base = Abilities {
        wants_attached_context: small,
        wants_forgiving_tools: small,
        ..Abilities::default()
    };
    let fitting =
        ENTRIES.iter().filter_map(|entry| Some((entry, rest_after(&name, entry.prefix)?)));
    let Some((entry, rest)) = fitting.max_by_key(|(entry, _)| entry.prefix.len()) else {
        return base;
    };
    let at_vendor = PRICED_HOSTS.iter().any(|(known, families)| {
        *known == host && families.iter().any(|family| name.starts_with(family))
    });
    // Behind the name only a date may follow: `-pro` or `-fast` cost something else.
    let exact = rest == "-latest" || rest.chars().all(|c| c.is_ascii_digit() || c == '-');
    Abilities {
        context_window_tokens: entry.context_window_tokens,
        output_tokens_max: entry.output_tokens_max,
        sees_images: Some(entry.sees_images),
        price: entry.price.filter(|_| at_vendor && exact).map(
            |[input, output, cache_read, cache_write]| Price {
                input,
                output,
                cache_read,
                cache_write,
            },
        ),
        ..base
    }
}

/// Returns the models that the vendor's own server `host` is known to have, for a choice among
/// them; none for another server.
pub fn known_models(host: &str) -> impl Iterator<Item = &'static str> {
    let families = PRICED_HOSTS.iter().find(|(known, _)| *known == host).map(|(_, all)| *all);
    let families = families.unwrap_or_default();
    // A family's own entry stands for models that nobody named yet, open weights are not served.
    let is_served = |entry: &&Entry| entry.price.is_some() || entry.sees_images;
    let entries = ENTRIES.iter().filter(is_served).map(|entry| entry.prefix);
    entries.filter(move |name| {
        families.iter().any(|family| name.starts_with(family) && *name != "claude")
    })
}

/// Returns what follows `prefix` if the name goes on behind a border: `gpt-5` is not the beginning
/// of `gpt-5.2`.
fn rest_after<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(prefix)?;
    let next = rest.chars().next();
    next.is_none_or(|next| matches!(next, '-' | ':' | '@' | '_')).then_some(rest)
}

/// Returns whether the name tells a size of at most four billion parameters (`qwen2.5-coder:1.5b`).
fn is_small(name: &str) -> bool {
    let words = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    let size = |word: &str| word.strip_suffix('b')?.parse::<f64>().ok();
    let sizes: Vec<f64> = words.filter_map(size).collect();
    !sizes.is_empty() && sizes.iter().all(|size| *size <= SMALL_PARAMETERS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_the_longest_name_that_fits() {
        let cases = [
            ("claude-sonnet-4-5-20250929", "api.anthropic.com", 64_000, Some(3.0)),
            ("claude-sonnet-4-5", "gateway.example", 64_000, None),
            ("anthropic/claude-opus-4-5", "openrouter.ai", 64_000, None),
            ("claude-opus-9", "api.anthropic.com", 32_000, None),
            ("gpt-5-mini", "api.openai.com", 128_000, Some(0.25)),
            ("gpt-5-2025-08-07", "api.openai.com", 128_000, Some(1.25)),
            ("gpt-5-codex", "api.openai.com", 128_000, None),
            ("gpt-5.9", "api.openai.com", 8_192, None),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "127.0.0.1:8000", 65_536, None),
            ("mock-model", "127.0.0.1:1", 8_192, None),
        ];
        for (name, host, output_tokens_max, input) in cases {
            let found = abilities(name, host);
            let price = found.price.map(|price| price.input);
            assert_eq!((found.output_tokens_max, price), (output_tokens_max, input), "{name}");
        }
    }

    #[test]
    fn a_vendors_models_are_named_and_another_servers_are_not() {
        let known: Vec<&str> = known_models("api.openai.com").collect();
        assert!(known.contains(&"gpt-5.2") && known.contains(&"o3"), "{known:?}");
        assert!(!known.contains(&"gpt-oss") && !known.contains(&"claude-opus-5"), "{known:?}");
        assert!(!known_models("api.anthropic.com").any(|name| name == "claude"));
        assert_eq!(known_models("gateway.example").count(), 0);
    }

    #[test]
    fn small_models_want_help() {
        let wants = |name| abilities(name, "localhost").wants_attached_context;
        assert!(wants("qwen2.5-coder:1.5b") && wants("llama-3.2-3B-instruct"));
        assert!(!wants("qwen3-30b-a3b") && !wants("gpt-5") && !wants("qwen2.5-coder:7b"));
    }
}
