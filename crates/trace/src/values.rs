//! Values of a JSON text that comes in pieces.

use crate::input::{Input, LONGEST_BYTES};

/// The value at the head of the pending bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// It is this long, and pending as a whole.
    Whole(usize),
    /// It was too long to keep, and is consumed.
    TooLong,
    /// The file ends within it.
    Cut,
}

/// Finds the end of a value whose first byte is the first pending one.
pub fn measure(input: &mut Input) -> Value {
    let mut scan = Scan::default();
    let mut scanned = 0;
    let mut kept = true;
    loop {
        if let Some(length) = scan.feed(&input.pending()[scanned..]) {
            let length = scanned + length;
            if kept && length <= LONGEST_BYTES {
                return Value::Whole(length);
            }
            input.consume(length);
            return Value::TooLong;
        }
        scanned = input.pending().len();
        if scanned > LONGEST_BYTES {
            kept = false;
            input.consume(scanned);
            scanned = 0;
        }
        if !input.more() {
            return if scan.is_scalar() { Value::Whole(scanned) } else { Value::Cut };
        }
    }
}

/// Where a value ends, over several pieces of it.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    begun: bool,
}

impl Scan {
    fn is_scalar(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }

    /// Bytes of this piece up to the value's end, if that is in it.
    fn feed(&mut self, piece: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < piece.len() {
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                at += memchr::memchr2(b'"', b'\\', &piece[at..])?;
                self.escaped = piece[at] == b'\\';
                self.in_string = self.escaped;
                at += 1;
                if !self.in_string && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match piece[at] {
                b'"' | b'{' | b'[' if self.begun && self.depth == 0 => return Some(at),
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = match self.depth {
                        0 => return Some(at),
                        1 => return Some(at + 1),
                        deep => deep - 1,
                    };
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => return Some(at),
                _ => {}
            }
            self.begun = true;
            at += 1;
        }
        None
    }
}
