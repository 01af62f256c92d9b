//! The files of a folder, byte for byte: no redirects, no listings, no compression, no caching.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;

/// Bytes of a file that are read at once.
const PART_BYTES: u64 = 64 << 10;

/// Fixed here, so that no machine's own tables decide.
const CONTENT_TYPES: [(&str, &str); 12] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jpg", "image/jpeg"),
    ("m4s", "video/iso.segment"),
    ("mp4", "video/mp4"),
    ("mpd", "application/dash+xml"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
];

/// A folder that is served.
pub struct Folder(PathBuf);

/// The head of an answer, and the body where there is one.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Value of `content-type`.
    pub content_type: &'static str,
    /// Length of the body, bytes.
    pub length: u64,
    /// The body.
    pub body: Option<File>,
}

impl Answer {
    /// Return how many bytes are to be sent after the head.
    pub fn body_bytes(&self) -> u64 {
        if self.body.is_some() { self.length } else { 0 }
    }

    /// Return the headers, names in lower case.
    pub fn headers(&self) -> [(&'static str, String); 3] {
        [
            ("content-type", self.content_type.into()),
            ("content-length", self.length.to_string()),
            ("cache-control", "no-store".into()),
        ]
    }
}

impl Folder {
    /// Open the folder at `path`.
    pub fn open(path: &str) -> Result<Self, Failure> {
        let folder = Path::new(path).canonicalize().map_err(|error| Failure::of(path, error))?;
        if folder.is_dir() { Ok(Self(folder)) } else { Err(Failure::of(path, "not a folder")) }
    }

    /// Return the answer to a request; `path` is a URL's, which may have a query. Names are taken as they are written.
    pub fn answer(&self, method: &str, path: &str) -> Answer {
        if method != "GET" && method != "HEAD" {
            return empty(405);
        }
        let Some((name, file, length)) = self.find(path) else { return empty(404) };
        let body = (method == "GET").then_some(file);
        Answer { status: 200, content_type: content_type(&name), length, body }
    }

    fn find(&self, path: &str) -> Option<(PathBuf, File, u64)> {
        let path = path.split('?').next().unwrap_or_default();
        let relative = Path::new(path.trim_start_matches('/'));
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let found = self.0.join(relative).canonicalize().ok()?;
        if !found.starts_with(&self.0) {
            return None; // a link led out of the folder
        }
        let file = File::open(&found).ok()?;
        let facts = file.metadata().ok()?;
        facts.is_file().then_some((found, file, facts.len()))
    }
}

/// Read the next part of a file of which `left` bytes remain; blocks, which is short for files in the page cache.
pub fn read_part(file: &mut File, left: &mut u64) -> std::io::Result<Vec<u8>> {
    let mut part = vec![0; PART_BYTES.min(*left) as usize];
    file.read_exact(&mut part)?;
    *left -= part.len() as u64;
    Ok(part)
}

fn empty(status: u16) -> Answer {
    Answer { status, content_type: "text/plain; charset=utf-8", length: 0, body: None }
}

fn content_type(name: &Path) -> &'static str {
    let extension = name.extension().and_then(|text| text.to_str()).unwrap_or_default().to_ascii_lowercase();
    let known = CONTENT_TYPES.iter().find(|(suffix, _)| *suffix == extension);
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder_are_given() {
        let root = std::env::temp_dir().join(format!("longlook-files-{}", std::process::id()));
        std::fs::create_dir_all(root.join("www/i")).unwrap();
        std::fs::write(root.join("www/index.html"), "page").unwrap();
        std::fs::write(root.join("secret"), "no").unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("www/link")).unwrap();
        let folder = Folder::open(root.join("www").to_str().unwrap()).unwrap();
        let answer = folder.answer("GET", "/index.html?x=1");
        assert_eq!((answer.status, answer.length), (200, 4));
        assert_eq!(answer.content_type, "text/html; charset=utf-8");
        assert!(folder.answer("HEAD", "/index.html").body.is_none());
        for path in ["/", "/i", "/missing", "/../secret", "/link"] {
            assert_eq!(folder.answer("GET", path).status, 404, "{path}");
        }
        assert_eq!(folder.answer("POST", "/index.html").status, 405);
        assert!(Folder::open(root.join("nowhere").to_str().unwrap()).is_err());
        std::fs::remove_dir_all(root).unwrap();
    }
}
