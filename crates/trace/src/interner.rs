//! Interner of events, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::StringArray;

use crate::event::Text;

const MOST_TEXTS: usize = 1 << 16;
const MOST_BYTES: usize = 16 << 20;

/// Interner of events, each kept once, in bounded memory.
#[derive(Default)]
pub struct Interner {
    numbers: HashMap<Arc<str>, Text>,
    all: Vec<Arc<str>>,
    bytes: usize,
    refused: u64,
}

impl Interner {
    /// The text's number; `None` when there are too many already, which is counted.
    pub fn intern(&mut self, text: &str) -> Option<Text> {
        if let Some(&known) = self.numbers.get(text) {
            return Some(known);
        }
        if self.all.len() == MOST_TEXTS || self.bytes + text.len() > MOST_BYTES {
            self.refused += 1;
            return None;
        }
        let number = Text::new(u32::try_from(self.all.len()).ok()?);
        let kept: Arc<str> = text.into();
        self.bytes += text.len();
        self.all.push(kept.clone());
        self.numbers.insert(kept, number);
        Some(number)
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// How many texts found no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All of them, in the order of their numbers.
    pub fn array(&self) -> StringArray {
        StringArray::from_iter_values(&self.all)
    }
}
