//! The pictures that go with a prompt: files that a person names with `@`, pastes the path of, or
//! gives on the command line.
//!
//! What a file is its content says. It is opened by the workspace, or, where a person names one
//! elsewhere, by a workspace of its folder alone, so that no link leads out of that.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use tenon_agent::AgentOptions;
use tenon_model::{Image, ImageError, Provider, visible};
use tenon_sandbox::{OpenFile, Workspace};

use crate::{
    session_links::leading_out,
    texts::{Language, Text, translated},
};

/// The most pictures of one prompt (Anthropic: more than 20 in a request must be small ones).
const IMAGES_MAX: usize = 20;
/// The most words with an at sign that are looked at; each is an attempt to open a file.
const NAMES_MAX: usize = 200;
/// What may stand behind a name without belonging to it.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '，', '。', '；', '：', '！', '？',
    '）', '”',
];

/// What holds a name with spaces together.
pub(crate) const QUOTES: &[char] = &['"', '\''];

/// Finds pictures for one model.
pub(crate) struct Pictures {
    workspace: Workspace,
    /// What `~` stands for.
    home: PathBuf,
    model: String,
    sees_images: Option<bool>,
    language: Language,
}

impl Pictures {
    /// Returns what finds pictures for the model of `options`.
    pub(crate) fn of(options: &AgentOptions, language: Language) -> Self {
        Self {
            workspace: options.workspace.clone(),
            home: PathBuf::from(&options.places.home),
            model: options.provider.model().to_owned(),
            sees_images: options.provider.abilities().sees_images,
            language,
        }
    }

    /// Takes in that another model is asked from now on.
    pub(crate) fn set_model(&mut self, model: &dyn Provider) {
        model.model().clone_into(&mut self.model);
        self.sees_images = model.abilities().sees_images;
    }

    /// Returns the pictures that `text` names with `@`. Names of other files, and of none, are left
    /// to the model.
    ///
    /// # Errors
    /// A sentence for the person if one cannot be sent, or the model sees none.
    pub(crate) fn named_in(&self, text: &str) -> Result<Vec<Image>, String> {
        let mut images: Vec<Image> = Vec::new();
        for name in names(text).into_iter().take(NAMES_MAX) {
            let short = name.trim_end_matches(PUNCTUATION);
            let found = [name.as_str(), short].into_iter().find_map(|name| {
                let file = self.open(Path::new(name)).transpose()?;
                Some(file.and_then(|file| read(file, name, self.language)))
            });
            match found.transpose()?.flatten() {
                Some(image) if !images.contains(&image) => images.push(image),
                _ => {}
            }
        }
        self.checked(images)
    }

    /// Returns the pictures in `files`, whose paths start from the current folder.
    ///
    /// # Errors
    /// A sentence for the person if one is none or cannot be sent, or the model sees none.
    pub(crate) fn in_files(&self, files: &[PathBuf]) -> Result<Vec<Image>, String> {
        let image = |path: &PathBuf| {
            let shown = visible(&path.to_string_lossy()).into_owned();
            let missing = || Text::ImageNotOpened.say(self.language, &[("path", &shown)]);
            let absolute = std::path::absolute(path).ok();
            let file = absolute.map(|path| self.open(&path)).transpose()?;
            let file = file.flatten().ok_or_else(missing)?;
            let image = read(file, &shown, self.language)?;
            image.ok_or_else(|| refused(&shown, &ImageError::NotAnImage, self.language))
        };
        self.checked(files.iter().map(image).collect::<Result<_, _>>()?)
    }

    /// Returns how a paste that is the path or the address of a picture is written in a prompt.
    pub(crate) fn pasted(&self, text: &str) -> Option<String> {
        let path = pasted_path(text.trim())?;
        let file = self.open(Path::new(&path)).ok()??;
        is_image(file)?;
        let plain = !path.contains(|c: char| c.is_whitespace() || PUNCTUATION.contains(&c))
            || (!path.contains(char::is_whitespace) && !path.ends_with(PUNCTUATION));
        match path {
            path if plain && !path.starts_with(['"', '\'']) => Some(format!("@{path}")),
            path => quoted(&path),
        }
    }

    fn checked(&self, images: Vec<Image>) -> Result<Vec<Image>, String> {
        if images.len() > IMAGES_MAX {
            return Err(Text::TooManyImages.say(self.language, &[("n", &IMAGES_MAX)]));
        }
        if !images.is_empty() && self.sees_images == Some(false) {
            let model = visible(&self.model);
            return Err(Text::ImageNotSeen.say(self.language, &[("model", &model)]));
        }
        Ok(images)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// A sentence for the person if it is a picture elsewhere to which a link in the workspace leads: a command may have
    /// made it.
    fn open(&self, path: &Path) -> Result<Option<OpenFile>, String> {
        let path = &match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => path.to_owned(),
        };
        let inside = path.to_str().and_then(|path| self.workspace.open_file(path).ok());
        let elsewhere = || {
            let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
            let folder = path.is_absolute().then(|| Workspace::open(folder).ok())??;
            folder.open_file(name).ok()
        };
        let Some(file) = inside.is_none().then(elsewhere).flatten() else { return Ok(inside) };
        let Some(link) = leading_out(path, &self.workspace.roots()) else { return Ok(Some(file)) };
        if is_image(file).is_none() {
            return Ok(None);
        }
        let [path, link] = [path, &link].map(|path| visible(&path.to_string_lossy()).into_owned());
        Err(Text::LinkOfSession.say(self.language, &[("path", &path), ("link", &link)]))
    }
}

/// Returns the picture in `file`; `None` if it is something else.
fn read(file: OpenFile, name: &str, language: Language) -> Result<Option<Image>, String> {
    let refused = |error: ImageError| refused(name, &error, language);
    let length = file.len();
    let Some((head, rest)) = is_image(file) else { return Ok(None) };
    if length > Image::BYTES_MAX {
        return Err(refused(ImageError::TooManyBytes { bytes: length }));
    }
    let mut bytes = head;
    let read = rest.take(Image::BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{}: {error}", visible(name)))?;
    Image::new(&bytes).map(Some).map_err(refused)
}

fn refused(name: &str, error: &ImageError, language: Language) -> String {
    translated(&format!("{} {error}", visible(name)), language).into_owned()
}

/// Returns the head of a picture and the file behind it.
fn is_image(mut file: OpenFile) -> Option<(Vec<u8>, OpenFile)> {
    let mut head = Vec::with_capacity(Image::HEAD_BYTES);
    Read::by_ref(&mut file).take(Image::HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    Image::is_begun_by(&head).then_some((head, file))
}

/// Returns the words of `text` that begin with an at sign, without it; quoted ones may have spaces.
fn names(text: &str) -> Vec<String> {
    let names = at_signs(text).into_iter().filter_map(|at| {
        let rest = text.get(at + 1..)?;
        match rest.chars().next().filter(|c| QUOTES.contains(c)) {
            Some(quote) => rest.get(1..)?.split_once(quote).map(|(name, _)| name),
            None => rest.split(char::is_whitespace).next(),
        }
    });
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns where a name may begin in `text`: at signs in front of which a word may begin, in bytes.
pub(crate) fn at_signs(text: &str) -> Vec<usize> {
    let mut before = None;
    let mut found = Vec::new();
    for (place, letter) in text.char_indices() {
        let begins = before.is_none_or(|c: char| c.is_whitespace() || "([\"'（“：，".contains(c));
        before = Some(letter);
        if letter == '@' && begins {
            found.push(place);
        }
    }
    found
}

/// Returns a path as a name in quotes; nothing if it has both kinds.
pub(crate) fn quoted(path: &str) -> Option<String> {
    let quote = QUOTES.iter().find(|quote| !path.contains(**quote))?;
    Some(format!("@{quote}{path}{quote}"))
}

/// Returns the absolute path that a terminal pastes for a file: plain, quoted, with backslashes
/// before what a shell would take for its own, or as an address.
fn pasted_path(text: &str) -> Option<String> {
    if text.contains('\n') {
        return None;
    }
    let path = if let Some(address) = text.strip_prefix("file://") {
        let path = address.strip_prefix("localhost").unwrap_or(address);
        percent_decoded(path)?
    } else if let Some(inner) = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote)))
    {
        inner.to_owned()
    } else {
        let mut path = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            path.push(if letter == '\\' { letters.next()? } else { letter });
        }
        path
    };
    path.starts_with('/').then_some(path)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digit = |sign: &u8| char::from(*sign).to_digit(16);
                (u8::try_from(digit(high)? * 16 + digit(low)?).ok()?, behind)
            }
            (b'%', _) => return None,
            (byte, behind) => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests prepare files")]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a\x20\x03\x58\x02\0\0\0";

    fn pictures(folder: &Path, sees_images: Option<bool>) -> Pictures {
        let workspace = Workspace::open(folder).unwrap();
        let (home, model) = (folder.to_owned(), "x/y".into());
        Pictures { workspace, home, model, sees_images, language: Language::English }
    }

    #[test]
    fn a_name_begins_at_a_word_and_may_be_quoted() {
        let cases: [(&str, &[&str]); 6] = [
            ("see @a.png, and (@b.gif)", &["a.png,", "b.gif)"]),
            ("@\"a b.png\" @'c d.png' @", &["a b.png", "c d.png"]),
            ("me@example.org @", &[]),
            ("看 @图/一.png。", &["图/一.png。"]),
            ("@\"open", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text), expected, "{text:?}");
        }
    }

    #[test]
    fn pictures_are_found_by_content_inside_and_by_an_absolute_path_outside() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &Path, name: &str, bytes: &[u8]| {
            std::fs::write(folder.join(name), bytes).unwrap();
            folder.join(name).display().to_string()
        };
        write(folder.path(), "no-ending", GIF);
        write(folder.path(), "text.png", b"words");
        let outside = write(other.path(), "a b.gif", &[GIF, b"more"].concat());
        std::os::unix::fs::symlink(&outside, folder.path().join("link.gif")).unwrap();
        let found = |text: &str| {
            let found = pictures(folder.path(), None).named_in(text);
            found.map(|images| images.iter().map(|image| image.bytes).collect::<Vec<_>>())
        };
        assert_eq!(found("@no-ending. @text.png @missing @no-ending"), Ok(vec![13]));
        assert_eq!(found(&format!("@\"{outside}\"")), Ok(vec![17]));
        assert_eq!(found("@~/no-ending"), Ok(vec![13]));
        assert_eq!(found("@~nobody/no-ending"), Ok(vec![]));
        assert_eq!(found("@link.gif"), Ok(vec![]), "a link that leads out");
        let blind = pictures(folder.path(), Some(false));
        assert!(blind.named_in("@no-ending").unwrap_err().contains("x/y sees no images"));
        assert_eq!(blind.named_in("@text.png"), Ok(vec![]));
        write(folder.path(), "broken.gif", b"GIF89a\0\0\0\0\0\0");
        let said = found("@broken.gif").unwrap_err();
        assert_eq!(said, "broken.gif is not a PNG, JPEG, GIF or WebP image");
        std::fs::File::create(folder.path().join("large.gif"))
            .and_then(|mut file| {
                std::io::Write::write_all(&mut file, GIF)?;
                file.set_len(Image::BYTES_MAX + 1)
            })
            .unwrap();
        assert!(
            found("@large.gif").unwrap_err().starts_with("large.gif is too large to send: 3932161")
        );
        let given = pictures(folder.path(), None).in_files(&[PathBuf::from(&outside)]);
        assert_eq!(given.unwrap().len(), 1);
        let missing = other.path().join("none.png");
        assert!(pictures(folder.path(), None).in_files(&[missing]).is_err());
    }

    #[test]
    fn a_picture_to_which_a_link_in_the_workspace_leads_is_not_sent() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        for name in ["work", "pictures"] {
            std::fs::create_dir(top.join(name)).unwrap();
        }
        std::fs::write(top.join("pictures/a.gif"), GIF).unwrap();
        std::fs::write(top.join("pictures/text"), "words").unwrap();
        for link in ["work/shots", "own"] {
            std::os::unix::fs::symlink(top.join("pictures"), top.join(link)).unwrap();
        }
        let pictures = pictures(&top.join("work"), None);
        let file = top.join("work/shots/a.gif");
        let led = format!("leads through the symbolic link {}/work/shots, ", top.display());
        let named = format!("@{}", file.display());
        for found in [pictures.in_files(&[file]), pictures.named_in(&named)] {
            assert!(found.unwrap_err().contains(&led));
        }
        assert_eq!(pictures.pasted(&named[1..]), None);
        let text = format!("@{}/work/shots/text", top.display());
        assert_eq!(pictures.named_in(&text), Ok(vec![]));
        for folder in ["own", "pictures"] {
            let found = pictures.in_files(&[top.join(folder).join("a.gif")]);
            assert_eq!(found.map(|found| found.len()), Ok(1), "{folder}");
        }
    }

    #[test]
    fn a_pasted_path_of_a_picture_becomes_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        std::fs::write(folder.path().join("a 图.gif"), GIF).unwrap();
        std::fs::write(folder.path().join("a.txt"), "words").unwrap();
        let pictures = pictures(folder.path(), None);
        let named = Some(format!("@\"{root}/a 图.gif\""));
        for pasted in [
            format!("{root}/a 图.gif"),
            format!("'{root}/a 图.gif' "),
            format!("{root}/a\\ 图.gif"),
            format!("file://{root}/a%20%E5%9B%BE.gif\n"),
            format!("file://localhost{root}/a%20%e5%9b%be.gif"),
        ] {
            assert_eq!(pictures.pasted(&pasted), named, "{pasted}");
            let images = pictures.named_in(&pictures.pasted(&pasted).unwrap());
            assert_eq!(images.map(|images| images.len()), Ok(1), "{pasted}");
        }
        for other in [format!("{root}/a.txt"), "a 图.gif".into(), "words".into(), "file://%".into()]
        {
            assert_eq!(pictures.pasted(&other), None, "{other}");
        }
    }
}
