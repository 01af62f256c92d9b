//! The grammar of a file: documents with traces, or a header and a sequence of events; read event by event.

mod sequence;

use std::path::Path;

use serde_json::Value as Json;

use crate::event::Vantage;
use crate::input::Input;
use crate::json::Members;
use crate::netlog::Netlog;
use crate::plausible::Misread;
use crate::qlog::Qlog;
use crate::qlog::header::Header;
use crate::values::{Value, measure};
use crate::writer::{EventWriter, Halt};

const MOST_TRACES: usize = 1 << 16;
/// Of a file's headers together; parsed, they take many times as much memory.
const MOST_HEADER_BYTES: usize = 4 << 20;

/// What is known of a file only when all of it was read: headers may stand after the events, and times of the whole
/// trace show the unit of its round trips.
#[derive(Default)]
pub struct Learned {
    documents: Vec<Members>,
    /// Each with the document that it belongs to.
    traces: Vec<(usize, Members)>,
    misread: Option<Misread>,
}

/// Why a document is not read on.
enum Stop {
    /// The file ends here.
    Cut,
    /// It is no JSON here.
    Malformed,
    Halt(Halt),
}

impl From<Halt> for Stop {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// One pass over one file.
pub struct Walk<'a> {
    input: &'a mut Input,
    writer: &'a mut EventWriter,
    qlog: Qlog,
    netlog: Option<Netlog>,
    requests: Option<&'a Path>,
    known: Option<&'a Learned>,
    /// The headers that this pass found, and those with which it read events.
    seen: Learned,
    used: Vec<Header>,
    header_bytes: usize,
    is_document: bool,
}

impl<'a> Walk<'a> {
    /// Before a pass; `known` is what an earlier pass learned.
    pub fn new(
        input: &'a mut Input,
        writer: &'a mut EventWriter,
        vantage: Vantage,
        known: Option<&'a Learned>,
    ) -> Self {
        Self {
            input,
            writer,
            qlog: Qlog::new(vantage, known.and_then(|known| known.misread)),
            netlog: None,
            requests: None,
            known,
            seen: Learned::default(),
            used: Vec::new(),
            header_bytes: 0,
            is_document: false,
        }
    }

    /// The same; of a netlog, events of requests are written to this file.
    #[must_use]
    pub fn with_requests(self, requests: Option<&'a Path>) -> Self {
        Self { requests, ..self }
    }

    /// Reads the file, whose first pending byte begins an object; what it learned, if the file has to be read again.
    pub fn file(mut self) -> Result<Option<Learned>, Halt> {
        loop {
            let place = self.input.place();
            self.seen.documents.push(Members::new());
            self.is_document = false;
            match self.top() {
                Ok(()) if self.is_document => {}
                Ok(()) => {
                    self.sequence(place)?;
                    break;
                }
                Err(Stop::Cut) => {
                    self.cut("the file ends within it");
                    break;
                }
                Err(Stop::Malformed) => {
                    self.cut("not JSON from here on; the rest is not read");
                    break;
                }
                Err(Stop::Halt(halt)) => return Err(halt),
            }
            if !self.another() {
                break;
            }
        }
        if let Some(netlog) = &mut self.netlog {
            netlog.finish()?;
        }
        self.account_of_input();
        Ok(self.learned())
    }

    /// What this pass learned, if a second one would read the file otherwise.
    fn learned(mut self) -> Option<Learned> {
        if self.known.is_some() {
            return None;
        }
        let changed = |((document, trace), used): (&(usize, Members), &Header)| {
            Header::new(&self.seen.documents[*document], trace) != *used
        };
        let again = self.seen.traces.iter().zip(&self.used).any(changed);
        self.seen.misread = self.writer.plausible.misread().filter(|misread| !again && self.qlog.may_be(*misread));
        (again || self.seen.misread.is_some()).then_some(self.seen)
    }

    /// Whether another document follows the one that was read; whatever else follows is not read.
    fn another(&mut self) -> bool {
        match self.input.skip_space() {
            None => false,
            Some(b'{') if self.netlog.is_none() && self.seen.documents.len() < MOST_TRACES => true,
            Some(_) => {
                self.writer.account.truncated = true;
                self.skip("behind the document", self.input.place());
                false
            }
        }
    }

    fn cut(&mut self, problem: &str) {
        let (line, offset) = self.input.place();
        self.writer.account.truncated = true;
        self.writer.account.warn(line, offset, problem);
    }

    fn account_of_input(&mut self) {
        let (line, offset) = self.input.place();
        let account = &mut self.writer.account;
        account.bytes = offset;
        if let Some(reason) = self.input.cut() {
            account.truncated = true;
            account.warn(line, offset, format!("the file is cut: {reason}"));
        }
    }

    fn top(&mut self) -> Result<(), Stop> {
        self.members(|walk, key| match key {
            "traces" => {
                walk.is_document = true;
                walk.writer.account.container = "document";
                walk.elements(Self::trace)
            }
            "constants" => {
                if let Some(constants) = walk.kept(key)? {
                    walk.netlog = Netlog::new(&constants, walk.requests, walk.writer)?;
                }
                Ok(())
            }
            "events" if walk.netlog.is_some() => {
                walk.is_document = true;
                walk.writer.account.container = "document";
                walk.elements(Self::element)
            }
            _ => {
                if let Some(value) = walk.kept(key)? {
                    walk.document().insert(key.to_owned(), value);
                }
                Ok(())
            }
        })
    }

    fn trace(&mut self) -> Result<(), Stop> {
        if self.input.skip_space() != Some(b'{') {
            return self.other("a trace that is no object");
        }
        let place = self.input.place();
        let index = self.seen.traces.len();
        if index == MOST_TRACES {
            return self.other("too many traces in one file");
        }
        self.seen.traces.push((self.seen.documents.len() - 1, Members::new()));
        let done = self.members(|walk, key| {
            if key == "events" {
                let header = walk.header(index);
                walk.qlog.begin(header.clone(), walk.writer);
                walk.used.push(header);
                return walk.elements(Self::element);
            }
            if let Some(value) = walk.kept(key)? {
                walk.seen.traces[index].1.insert(key.to_owned(), value);
            }
            Ok(())
        });
        if self.used.len() == index {
            let header = self.header(index);
            self.used.push(header);
            if done.is_ok() {
                self.skip("a trace without events", place);
            }
        }
        done
    }

    fn header(&self, index: usize) -> Header {
        let learned = self.known.filter(|known| known.traces.len() > index).unwrap_or(&self.seen);
        let (document, trace) = &learned.traces[index];
        Header::new(&learned.documents[*document], trace)
    }

    /// The members of the document that is being read.
    fn document(&mut self) -> &mut Members {
        if self.seen.documents.is_empty() {
            self.seen.documents.push(Members::new());
        }
        let last = self.seen.documents.len() - 1;
        &mut self.seen.documents[last]
    }

    fn element(&mut self) -> Result<(), Stop> {
        let place = self.input.place();
        match measure(self.input) {
            Value::Whole(0) => Err(Stop::Malformed),
            Value::Whole(length) => {
                let bytes = &self.input.pending()[..length];
                match &mut self.netlog {
                    Some(netlog) => netlog.event(bytes, place, self.writer)?,
                    None => self.qlog.event(bytes, place, self.writer)?,
                }
                self.input.consume(length);
                Ok(())
            }
            Value::TooLong => {
                self.too_long(place);
                Ok(())
            }
            Value::Cut => {
                self.cut_off(place);
                Err(Stop::Cut)
            }
        }
    }

    fn too_long(&mut self, place: (u64, u64)) {
        let problem = "an event longer than 16 MiB is skipped";
        self.writer.account.skip("longer than 16 MiB", place.0, place.1, problem);
    }

    fn cut_off(&mut self, place: (u64, u64)) {
        self.writer.account.truncated = true;
        let problem = "the file ends within an event";
        self.writer.account.skip("cut off at the end of the file", place.0, place.1, problem);
    }

    fn skip(&mut self, reason: &str, place: (u64, u64)) {
        self.writer.account.skip(reason, place.0, place.1, format!("skipped: {reason}"));
    }

    /// A value where something else must be.
    fn other(&mut self, reason: &str) -> Result<(), Stop> {
        let place = self.input.place();
        self.value(0)?;
        self.skip(reason, place);
        Ok(())
    }

    /// The value of a member of a header, unless the headers grow too long by it.
    fn kept(&mut self, key: &str) -> Result<Option<Json>, Stop> {
        self.input.skip_space().ok_or(Stop::Cut)?;
        let place = self.input.place();
        let left_bytes = (MOST_HEADER_BYTES - self.header_bytes).checked_sub(key.len());
        let Some((value, bytes)) = self.value(left_bytes.unwrap_or(0))? else {
            self.skip("headers longer than 4 MiB together", place);
            return Ok(None);
        };
        self.header_bytes += key.len() + bytes;
        Ok(Some(value))
    }

    /// A value that is no event, and its length; `None` for one that is longer than the limit.
    fn value(&mut self, most_bytes: usize) -> Result<Option<(Json, usize)>, Stop> {
        self.input.skip_space().ok_or(Stop::Cut)?;
        match measure(self.input) {
            Value::Whole(0) => Err(Stop::Malformed),
            Value::Whole(bytes) => {
                let text = &self.input.pending()[..bytes];
                let value = (bytes <= most_bytes).then(|| serde_json::from_slice(text).unwrap_or_default());
                self.input.consume(bytes);
                Ok(value.map(|value| (value, bytes)))
            }
            Value::TooLong => Ok(None),
            Value::Cut => Err(Stop::Cut),
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), Stop> {
        match self.input.skip_space() {
            Some(next) if next == byte => {
                self.input.consume(1);
                Ok(())
            }
            Some(_) => Err(Stop::Malformed),
            None => Err(Stop::Cut),
        }
    }

    fn members(&mut self, mut each: impl FnMut(&mut Self, &str) -> Result<(), Stop>) -> Result<(), Stop> {
        self.take(b'{')?;
        loop {
            match self.input.skip_space().ok_or(Stop::Cut)? {
                b'}' => return self.take(b'}'),
                b',' => self.take(b',')?,
                b'"' => {
                    let Some((Json::String(key), _)) = self.value(MOST_HEADER_BYTES)? else {
                        return Err(Stop::Malformed);
                    };
                    self.take(b':')?;
                    self.input.skip_space().ok_or(Stop::Cut)?;
                    each(self, &key)?;
                }
                _ => return Err(Stop::Malformed),
            }
        }
    }

    fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        if self.input.skip_space() != Some(b'[') {
            return self.other("no array where one must be");
        }
        self.take(b'[')?;
        loop {
            match self.input.skip_space().ok_or(Stop::Cut)? {
                b']' => return self.take(b']'),
                b',' => self.take(b',')?,
                _ => each(self)?,
            }
        }
    }
}
