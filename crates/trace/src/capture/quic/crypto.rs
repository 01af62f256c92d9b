//! The begin of TLS in the CRYPTO frames of Initial packets: which connection it is, and how it encrypts.

use super::keys::{ClientRandom, Suite};

/// A `ClientHello` may be long; more is not kept.
const MOST_BYTES: usize = 1 << 16;
const MOST_PARTS: usize = 64;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Puts the parts of a stream together.
#[derive(Default)]
pub struct Hello {
    bytes: Vec<u8>,
    waiting: Vec<(usize, Vec<u8>)>,
}

impl Hello {
    /// Adds a part.
    pub fn add(&mut self, offset: i64, data: &[u8]) {
        let Ok(offset) = usize::try_from(offset) else { return };
        if offset + data.len() > MOST_BYTES || self.waiting.len() == MOST_PARTS {
            return;
        }
        self.waiting.push((offset, data.to_vec()));
        while let Some(at) = self.waiting.iter().position(|(offset, _)| *offset <= self.bytes.len()) {
            let (offset, data) = self.waiting.swap_remove(at);
            if let Some(new) = data.get(self.bytes.len() - offset..) {
                self.bytes.extend_from_slice(new);
            }
        }
    }

    /// The random number of a `ClientHello`.
    pub fn client_random(&self) -> Option<ClientRandom> {
        if self.bytes.first() != Some(&CLIENT_HELLO) {
            return None;
        }
        self.bytes.get(6..38)?.try_into().ok()
    }

    /// The algorithms that a `ServerHello` chose.
    pub fn suite(&self) -> Option<Suite> {
        if self.bytes.first() != Some(&SERVER_HELLO) {
            return None;
        }
        let at = 39 + usize::from(*self.bytes.get(38)?);
        let number = self.bytes.get(at..at + 2)?;
        Suite::of(u16::from_be_bytes([number[0], number[1]]))
    }
}
