//! What git's settings of a repository say of its remotes.

/// What git's settings say of remotes.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) remotes: Vec<Remote>,
    rewrites: Vec<Rewrite>,
}

/// An address of a remote.
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) is_pushed_to: bool,
}

/// With what the beginning of an address is replaced, only to push if so.
struct Rewrite {
    beginning: String,
    by: String,
    is_to_push: bool,
}

impl Settings {
    /// Reads the text of a settings file, as far as it has no escapes in its names.
    pub(super) fn read(text: &str) -> Self {
        let mut found = Self::default();
        let mut section = None;
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                let named = header.split_once("\"]").and_then(|(it, _)| it.split_once(" \""));
                section = named.map(|(kind, name)| (kind.to_ascii_lowercase(), name.to_owned()));
                continue;
            }
            let (Some((kind, name)), Some((key, value))) = (&section, line.split_once('=')) else {
                continue;
            };
            let (name, value) = (name.clone(), value.trim().trim_matches('"').to_owned());
            match (kind.as_str(), key.trim().to_ascii_lowercase().as_str()) {
                ("remote", key @ ("url" | "pushurl")) => {
                    let is_pushed_to = key == "pushurl";
                    found.remotes.push(Remote { name, address: value, is_pushed_to });
                }
                ("url", key @ ("insteadof" | "pushinsteadof")) => {
                    let is_to_push = key == "pushinsteadof";
                    found.rewrites.push(Rewrite { beginning: value, by: name, is_to_push });
                }
                _ => {}
            }
        }
        found
    }

    /// Returns what an address is replaced by: by the longest beginning, and where git `pushes` by those for that
    /// first.
    pub(super) fn rewritten(&self, address: &str, pushes: bool) -> String {
        let longest = |is_to_push: bool| {
            let its = self.rewrites.iter().filter(|it| it.is_to_push == is_to_push);
            let begun = its.filter_map(|it| Some((it, address.strip_prefix(&it.beginning)?)));
            begun.max_by_key(|(it, _)| it.beginning.len())
        };
        match pushes.then(|| longest(true)).flatten().or_else(|| longest(false)) {
            Some((rewrite, rest)) => format!("{}{rest}", rewrite.by),
            None => address.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_rewritten_by_the_longest_beginning_and_to_push_by_those_for_that_first() {
        let settings = Settings::read(
            "[core]\n\tbare = false\n[Remote \"a.b\"]\n\tURL = \"x:a\"\n\tpushurl = x:b\n\tfetch = +a:b\n\
             [url \"/srv/\"]\n\tinsteadOf = x:\n\tinsteadof = y:\n\
             [url \"long:\"]\n\tinsteadOf = x:deep/\n\
             [url \"push:\"]\n\tpushInsteadOf = x:deep\n",
        );
        let remotes = settings.remotes.iter();
        let read: Vec<(&str, &str, bool)> =
            remotes.map(|it| (it.name.as_str(), it.address.as_str(), it.is_pushed_to)).collect();
        assert_eq!(read, [("a.b", "x:a", false), ("a.b", "x:b", true)]);
        for (address, fetched, pushed) in [
            ("x:a", "/srv/a", "/srv/a"),
            ("y:a", "/srv/a", "/srv/a"),
            ("x:deep/a", "long:a", "push:/a"),
            ("z:x:a", "z:x:a", "z:x:a"),
        ] {
            assert_eq!(settings.rewritten(address, false), fetched);
            assert_eq!(settings.rewritten(address, true), pushed);
        }
    }
}
