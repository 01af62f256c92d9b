//! A cursor over one JSON text: reads what is asked for, and passes over the rest without building or recursing.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The members of an object that was read whole.
pub type Members = Map<String, Value>;

/// Why a text cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It ends too early.
    Cut,
    /// It is not JSON.
    Syntax,
    /// It is JSON, but of another shape than it must have.
    Shape,
}

impl Bad {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut off",
            Self::Syntax => "not JSON",
            Self::Shape => "not the shape of an event",
        }
    }
}

/// A place in a JSON text.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How far it has come.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, Bad> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(Bad::Cut),
            }
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, otherwise: Bad) -> Result<(), Bad> {
        if self.peek()? == byte {
            self.at += 1;
            return Ok(());
        }
        Err(otherwise)
    }

    /// Reads an object: `each` gets every key as it is written, and must read or skip its value.
    #[inline]
    pub fn object(&mut self, mut each: impl FnMut(&'a [u8], &mut Self) -> Result<(), Bad>) -> Result<(), Bad> {
        self.expect(b'{', Bad::Shape)?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Bad::Syntax);
            }
            let key = self.string()?;
            self.expect(b':', Bad::Syntax)?;
            each(key, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return Err(Bad::Syntax),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an array: `each` gets the index, and must read or skip the value.
    #[inline]
    pub fn array(&mut self, mut each: impl FnMut(usize, &mut Self) -> Result<(), Bad>) -> Result<(), Bad> {
        self.expect(b'[', Bad::Shape)?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            each(index, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return Err(Bad::Syntax),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// A string as it is written, without its quotes and with its escapes.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], Bad> {
        self.expect(b'"', Bad::Shape)?;
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Bad::Cut)?;
            self.at += rest.iter().take_while(|byte| !IS_END[usize::from(**byte)]).count();
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(_) => self.at += 2,
                None => return Err(Bad::Cut),
            }
        }
        self.at += 1;
        Ok(&self.bytes[start..self.at - 1])
    }

    /// A number, true, false or null as it is written, or what a string holds: some producers put numbers in quotes.
    #[inline]
    pub fn scalar(&mut self) -> Result<&'a [u8], Bad> {
        match self.peek()? {
            b'"' => self.string(),
            b'0'..=b'9' | b'-' | b't' | b'f' | b'n' => {
                let start = self.at;
                while let Some(b'0'..=b'9' | b'a'..=b'z' | b'.' | b'-' | b'+' | b'E') = self.bytes.get(self.at) {
                    self.at += 1;
                }
                Ok(&self.bytes[start..self.at])
            }
            b'{' | b'[' => Err(Bad::Shape),
            _ => Err(Bad::Syntax),
        }
    }

    /// Passes over a value, however deeply nested; gives it as it is written.
    pub fn skip(&mut self) -> Result<&'a [u8], Bad> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                self.scalar()?;
            }
        }
        Ok(&self.bytes[start..self.at])
    }

    fn skip_nested(&mut self) -> Result<(), Bad> {
        let mut depth = 0_usize;
        loop {
            let plain = self.bytes[self.at..].iter().take_while(|byte| !IS_STRUCTURE[usize::from(**byte)]).count();
            self.at += plain;
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(_) => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                None => return Err(Bad::Cut),
            }
            self.at += 1;
        }
    }
}

/// Whether a byte opens or closes something.
static IS_STRUCTURE: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 5 {
        table[b"\"{}[]"[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether a byte ends a string, or escapes what follows it.
static IS_END: [bool; 256] = {
    let mut table = [false; 256];
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Returns a string with its escapes resolved and invalid UTF-8 replaced.
#[must_use]
pub fn text(raw: &[u8]) -> Cow<'_, str> {
    if raw.contains(&b'\\') {
        let quoted = [b"\"", raw, b"\""].concat();
        if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
            return text.into();
        }
    }
    String::from_utf8_lossy(raw)
}
