//! Which values in files of variables and of credentials are secrets.
//!
//! A value counts by its name and its look. Too few is a leak in plain sight, too many makes
//! results unreadable: a plain word, number, path or address without a password never counts.

use super::{KnownValue, forms::base64_text, placeholder::is_placeholder};

/// Shorter values count in no case: they would be masked where they mean something else.
const VALUE_CHARS_MIN: usize = 12;

/// Passwords are chosen by people, who choose shorter ones.
const PASSWORD_CHARS_MIN: usize = 8;

/// Letters of one case make a word up to here, whatever its name says.
const WORD_CHARS_MAX: usize = 15;

/// A longer value in quotes is no variable.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// What a name has in it if its value is a secret.
const NAMES: [&str; 14] = [
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "private",
    "salt",
    "cookie",
    "webhook",
    "dsn",
    "_auth",
    "signature",
];

/// How a file of credentials is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialShape {
    /// Names with values: INI, TOML, YAML, JSON.
    Pairs,
    /// `machine … login … password …`
    Netrc,
    /// Addresses with user and password, one a line.
    Addresses,
    /// `host:port:database:user:password`
    Colons,
    /// Nothing but the secret.
    Whole,
}

/// Returns the secrets among the variables of a file such as `.env`, or of a script that exports
/// them. `place` is how people know the file.
///
/// ```
/// use tenon_model::variable_values;
///
/// let text = "PORT=8080\nexport API_KEY='k-0a1b2c3d4e5f' # mine\nURL=http://me:s3cret-word@db/x\n";
/// let labels: Vec<_> =
///     variable_values(text, ".env").iter().map(|known| known.label().to_owned()).collect();
/// assert_eq!(labels, ["[masked: value of API_KEY from .env]", "[masked: value of URL from .env]"]);
/// ```
pub fn variable_values(text: &str, place: &str) -> Vec<KnownValue> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.is_empty() {
        let (line, later) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = later;
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim_end();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let value = value.trim_start();
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'));
        match quote {
            Some(quote) => {
                let (inner, beyond) = quoted(value, later, quote);
                rest = beyond;
                add(&mut found, name, &inner, place);
                let plain = inner.replace("\\\"", "\"").replace("\\\\", "\\");
                if plain != inner {
                    add(&mut found, name, &plain, place);
                }
            }
            None => add(&mut found, name, value.split(" #").next().unwrap_or(value).trim(), place),
        }
    }
    found
}

/// Returns what stands in quotes at the beginning of `line`, which `later` follows, and what comes
/// after its last line.
fn quoted<'a>(line: &str, later: &'a str, quote: char) -> (String, &'a str) {
    let closing = |text: &str| {
        let mut is_escaped = false;
        text.char_indices().find_map(|(at, letter)| {
            let closes = letter == quote && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped && quote == '"';
            closes.then_some(at)
        })
    };
    let inner = line.get(1..).unwrap_or_default();
    if let Some(end) = closing(inner) {
        return (inner.get(..end).unwrap_or(inner).to_owned(), later);
    }
    let bound = later.floor_char_boundary(VALUE_BYTES_MAX);
    match closing(later.get(..bound).unwrap_or(later)) {
        Some(end) => {
            let (more, beyond) = later.split_at_checked(end).unwrap_or((later, ""));
            (format!("{inner}\n{more}"), beyond.split_once('\n').map_or("", |(_, next)| next))
        }
        // Not closed: the quote belongs to the value.
        None => (inner.to_owned(), later),
    }
}

/// Returns the secrets of a file of credentials, which people know as `place`.
pub fn credential_values(text: &str, shape: CredentialShape, place: &str) -> Vec<KnownValue> {
    let mut found = Vec::new();
    let mut take = |name: &str, value: &str| {
        if is_long_enough(value, PASSWORD_CHARS_MIN) && !is_word(value) {
            found.push(KnownValue::new(value, name, place));
        }
    };
    match shape {
        CredentialShape::Whole => take("the secret", text.trim()),
        CredentialShape::Netrc => {
            let mut words = text.split_whitespace();
            while let Some(word) = words.next() {
                if word == "password" {
                    take("a password", words.next().unwrap_or_default());
                }
            }
        }
        CredentialShape::Addresses => {
            text.lines().flat_map(address_parts).for_each(|part| take("a password", &part));
        }
        CredentialShape::Colons => {
            let passwords = text.lines().filter_map(|line| line.splitn(5, ':').nth(4));
            passwords.for_each(|password| take("a password", password.trim()));
        }
        CredentialShape::Pairs => {
            let pieces = text.split(['\n', ',', '{', '}']).filter_map(pair);
            for (name, value) in pieces {
                let parts = address_parts(value);
                if !parts.is_empty() {
                    parts.iter().for_each(|part| take(name, part));
                } else if !value.contains("://") && is_name_of_secret(name) {
                    take(name, value);
                    // What base64 hides in `auth` is a user's name and password.
                    let text = base64_text(value).unwrap_or_default();
                    take(
                        name,
                        text.split_once(':').map_or(text.as_str(), |(_, password)| password),
                    );
                }
            }
        }
    }
    found
}

/// Splits a line of TOML, YAML, INI or JSON into the last part of its name and its value.
fn pair(piece: &str) -> Option<(&str, &str)> {
    let piece = piece.trim().trim_start_matches("- ");
    let separators: &[char] = if piece.starts_with("//") { &['='] } else { &['=', ':'] };
    let (name, value) = match piece.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((name, rest)) => (name, rest.trim_start().strip_prefix(separators)?),
        None => piece.split_once(separators)?,
    };
    let bare = |text: &str, marks: &[char]| -> (usize, usize) {
        let start = text.len() - text.trim_start_matches(marks).len();
        (start, text.trim_end_matches(marks).len().max(start))
    };
    let marks = [' ', '\t', '\r', '"', '\'', ';'];
    let (start, end) = bare(value, &marks);
    let value = value.get(start..end)?;
    let (start, end) = bare(name, &marks);
    let name = name.get(start..end)?.rsplit([':', '.', '/']).next()?;
    Some((name, value))
}

/// Returns whether `value`, that of a variable called `name`, is a secret as a whole.
pub fn is_secret(name: &str, value: &str) -> bool {
    let is_password = ["passw", "passphrase", "pwd"].iter().any(|part| lower(name).contains(part));
    let chars_min = if is_password { PASSWORD_CHARS_MIN } else { VALUE_CHARS_MIN };
    if !is_long_enough(value, chars_min) || value.contains("://") || is_path(value) {
        return false;
    }
    if is_name_of_secret(name) {
        !is_word(value)
    } else {
        looks_random(value) && !is_address(value)
    }
}

fn add(found: &mut Vec<KnownValue>, name: &str, value: &str, place: &str) {
    if is_secret(name, value) {
        found.push(KnownValue::new(value, name, place));
    }
    for part in address_parts(value) {
        found.push(KnownValue::new(&part, name, place));
    }
}

fn lower(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// Returns whether a variable or setting called `name` holds a secret, whatever its value looks like.
pub fn is_name_of_secret(name: &str) -> bool {
    let name = lower(name);
    name == "auth" || NAMES.iter().any(|part| name.contains(part))
}

fn is_long_enough(value: &str, chars_min: usize) -> bool {
    let is_number =
        value.chars().all(|letter| letter.is_ascii_digit() || ".,:+-_ ".contains(letter));
    value.chars().count() >= chars_min && !is_number && !is_placeholder(value)
}

/// Letters of one case, a capital first or not, and not many of them.
fn is_word(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    let is_of = |is: fn(&u8) -> bool| rest.bytes().all(|byte| is(&byte) || b"-_. ".contains(&byte));
    let is_begun = value.starts_with(|first: char| first.is_ascii_alphabetic());
    value.len() <= WORD_CHARS_MAX
        && is_begun
        && (is_of(u8::is_ascii_lowercase) || is_of(u8::is_ascii_uppercase))
}

/// Whether some part between signs goes from letters to digits and back, or mixes cases, as no word
/// does.
fn looks_random(value: &str) -> bool {
    value.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|part| {
        let count = |is: fn(&u8) -> bool| part.bytes().filter(is).count();
        let (digits, upper) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
        let pairs = part.as_bytes().windows(2);
        let changes = pairs.filter(|pair| {
            pair.first().is_some_and(u8::is_ascii_digit)
                != pair.last().is_some_and(u8::is_ascii_digit)
        });
        part.len() >= 8 && digits >= 2 && changes.count() >= 2
            || part.len() >= 12 && upper >= 3 && count(u8::is_ascii_lowercase) >= 3
    })
}

fn is_path(value: &str) -> bool {
    let is_begun = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start));
    is_begun && !value.split('/').any(|part| part.len() >= 8 && looks_random(part))
}

/// Whether it is the name of a host, or an address of mail.
fn is_address(value: &str) -> bool {
    let Some((name, last)) = value.rsplit_once('.') else { return false };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_@+".contains(&byte);
    (2..=6).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
        && name.bytes().all(|byte| is_part(byte) && !byte.is_ascii_uppercase())
}

/// Returns the parts of a URL that are secrets: the password, a user name or a part of the path that
/// looks random, parameters with the name of a secret.
fn address_parts(value: &str) -> Vec<String> {
    let Some((_, rest)) = value.split_once("://") else { return Vec::new() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut parts: Vec<&str> = Vec::new();
    if let Some((user, _)) = authority.rsplit_once('@') {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        parts.extend(
            [password]
                .iter()
                .filter(|word| is_long_enough(word, PASSWORD_CHARS_MIN) && !is_word(word)),
        );
        parts.extend([name].iter().filter(|name| name.len() >= 16 && looks_random(name)));
    }
    let (folders, query) = path.split_once('?').unwrap_or((path, ""));
    parts.extend(folders.split('/').filter(|part| part.len() >= 20 && looks_random(part)));
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    parts.extend(parameters.filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value));
    parts.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(known: &[KnownValue]) -> Vec<&str> {
        known.iter().map(|known| known.value.expose()).collect()
    }

    fn check_pairs(text: &str, expected: &[&str]) {
        assert_eq!(
            values(&credential_values(text, CredentialShape::Pairs, "f")),
            expected,
            "{text}"
        );
    }

    #[test]
    fn words_numbers_paths_and_addresses_are_no_secrets() {
        let plain = [
            ("NODE_ENV", "development"),
            ("PASSWORD", "postgres"),
            ("JWT_SECRET", "development"),
            ("ACCOUNT", "123456789012345"),
            ("API_KEY", "${OTHER_API_KEY}"),
            ("API_KEY", "your-api-key-goes-here"),
            ("TOKEN", "xxxxxxxxxxxxxxxx"),
            ("SMTP_PASSWORD", "user@example.com"),
            ("KEY_FILE", "/etc/ssl/private/server.pem"),
            ("BASE_URL", "https://api.service.test/v1/some/long/path"),
            ("BUCKET", "my-company-assets-2024"),
            ("REGION", "us-east-1-production"),
            ("HOST", "db-abcd1234.eu-west-1.rds.test.com"),
            ("MAIL", "somebody1234@company.com"),
            ("STARTED", "2026-01-01T00:00:00Z"),
            ("IMAGE", "registry.test.io/team/node:20-alpine"),
        ];
        for (name, value) in plain {
            assert!(!is_secret(name, value) && address_parts(value).is_empty(), "{name}={value}");
        }
    }

    #[test]
    fn what_is_named_or_looks_like_a_secret_is_one() {
        let secret = [
            ("DB_PASSWORD", "hunter2!"),
            ("SECRET", "correct horse battery staple"),
            ("OPENAI_API_KEY", "sk-proj-a1B2c3D4e5F6g7H8"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz"),
            ("SOMETHING", "550e8400-e29b-41d4-a716-446655440000"),
            ("SOMETHING", "SG.aBcDeFgHiJkLmNoP.QrStUvWxYz01"),
            ("PRIVATE_KEY", "/aB3dE5gH7jK9+/xYz"),
            ("SMTP_PASSWORD", "Kx92!mail@example.com"),
            ("AWS_TOKEN", "AKIA2EXAMPLE9XQ7ZKD3"),
        ];
        for (name, value) in secret {
            assert!(is_secret(name, value), "{name}={value}");
        }
    }

    #[test]
    fn files_of_variables_are_read_as_shells_and_libraries_read_them() {
        let text = "# API_KEY=comment-0123456789\nexport A_KEY=plain-0123456789 # note\r\n\
                    B_KEY = \"quoted \\\" 0123456789\"\nC_KEY='one-0123456789\ntwo-0123456789'\n\
                    D_KEY='not closed 0123456789\nURL=postgres://me:p4ss-w0rd@host:5432/db?token=t0ken-0123456789\n\
                    HOOK=https://hooks.test/services/T000/B000/a1b2c3d4e5f6g7h8i9j0\n";
        let expected = [
            "plain-0123456789",
            "quoted \\\" 0123456789",
            "quoted \" 0123456789",
            "one-0123456789\ntwo-0123456789",
            "not closed 0123456789",
            "p4ss-w0rd",
            "t0ken-0123456789",
            "a1b2c3d4e5f6g7h8i9j0",
        ];
        assert_eq!(values(&variable_values(text, ".env")), expected);
    }

    #[test]
    fn credentials_are_found_in_the_usual_files() {
        check_pairs(
            "//registry.test/:_authToken=npm_a1B2c3D4e5\n_auth=dXNlcjpwYTU1LXdvcmQ=",
            &["npm_a1B2c3D4e5", "dXNlcjpwYTU1LXdvcmQ=", "pa55-word"],
        );
        check_pairs("[registry]\ntoken = \"cio-a1B2c3D4e5\"\n", &["cio-a1B2c3D4e5"]);
        check_pairs("host:\n  user: me\n  oauth_token: gho_a1B2c3D4\n", &["gho_a1B2c3D4"]);
        check_pairs(
            "[default]\naws_access_key_id=AKIA\naws_secret_access_key = wJalrXUtnFE=\n",
            &["wJalrXUtnFE="],
        );
        check_pairs(
            "{\"auths\":{\"r\":{\"auth\":\"dXNlcjpwYTU1LXdvcmQ=\"}},\"key\":\"value\"}",
            &["dXNlcjpwYTU1LXdvcmQ=", "pa55-word"],
        );
        check_pairs("index-url = https://me:p4ss-w0rd@pypi.test/simple", &["p4ss-w0rd"]);
        let netrc =
            "machine a.test login me password p4ss-w0rd\nmachine b\n password\n  0ther-word";
        let found = credential_values(netrc, CredentialShape::Netrc, "~/.netrc");
        assert_eq!(values(&found), ["p4ss-w0rd", "0ther-word"]);
        let urls = credential_values(
            "https://me:ghp_a1B2c3@github.test\n",
            CredentialShape::Addresses,
            "f",
        );
        assert_eq!(values(&urls), ["ghp_a1B2c3"]);
        let colons = credential_values("h:1:d:u:p4ss:w0rd\n", CredentialShape::Colons, "f");
        assert_eq!(values(&colons), ["p4ss:w0rd"]);
    }
}
