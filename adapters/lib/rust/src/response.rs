//! An answer on its way into a stream that takes a part of it at a time.

use crate::files::{Answer, read_part};

/// An answer that is not completely sent; `B` is the type of bytes that the library sends.
pub struct Response<B> {
    answer: Answer,
    /// The library has taken the head.
    pub head_sent: bool,
    /// Bytes of the file that are not read yet.
    left: u64,
    part: B,
    taken: usize,
}

impl<B: AsRef<[u8]> + Default + From<Vec<u8>>> Response<B> {
    /// Begin to send `answer`.
    pub fn new(answer: Answer) -> Self {
        let left = answer.body_bytes();
        Self { answer, head_sent: false, left, part: B::default(), taken: 0 }
    }

    /// Return the fields of the head.
    pub fn head(&self) -> [(&'static str, String); 4] {
        crate::head::response(&self.answer)
    }

    /// Read the next part of the file where the last one is sent. Return whether there is anything to send.
    pub fn read(&mut self) -> std::io::Result<bool> {
        if self.taken == self.part.as_ref().len() && self.left > 0 {
            let file = self.answer.body.as_mut().expect("bytes are left only where there is a body");
            self.part = read_part(file, &mut self.left)?.into();
            self.taken = 0;
        }
        Ok(self.taken < self.part.as_ref().len())
    }

    /// Return the part that was read last, and how many of its bytes were sent.
    pub fn part(&self) -> (&B, usize) {
        (&self.part, self.taken)
    }

    /// Return whether nothing follows that part.
    pub fn is_last(&self) -> bool {
        self.left == 0
    }

    /// Note that the library took so many more bytes of the part.
    pub fn sent(&mut self, bytes: usize) {
        self.taken += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Folder;

    #[test]
    fn a_file_is_sent_in_parts() {
        let root = std::env::temp_dir().join(format!("longlook-response-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let content: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
        std::fs::write(root.join("file"), &content).unwrap();
        let folder = Folder::open(root.to_str().unwrap()).unwrap();
        let mut response: Response<Vec<u8>> = Response::new(folder.answer("GET", "/file"));
        assert_eq!(response.head()[2], ("content-length", "100000".into()));
        assert!(!response.is_last());
        let mut sent = Vec::new();
        while response.read().unwrap() {
            let (part, taken) = response.part();
            let bytes = 10_000.min(part.len() - taken);
            sent.extend_from_slice(&part[taken..taken + bytes]);
            response.sent(bytes);
        }
        assert!(response.is_last() && sent == content);
        let mut empty: Response<Vec<u8>> = Response::new(folder.answer("HEAD", "/file"));
        assert!(empty.is_last() && !empty.read().unwrap());
        std::fs::remove_dir_all(root).unwrap();
    }
}
