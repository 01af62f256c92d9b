//! The grammar of a file: one document with traces, or a header and a sequence of events; read event by event.

use longlook_support::failure::Failure;
use serde_json::Value as Json;

use crate::event::Vantage;
use crate::input::{Input, RECORD_MARK, is_between};
use crate::json::Members;
use crate::netlog::Netlog;
use crate::qlog::Qlog;
use crate::qlog::header::Header;
use crate::values::{Value, measure};
use crate::writer::{EventWriter, Halt};

const MOST_TRACES: usize = 1 << 16;
/// Of a file's headers together; parsed, they take many times as much memory.
const MOST_HEADER_BYTES: usize = 4 << 20;

/// The headers of a document's traces. They may stand after the events, so that they are known only in a second pass.
#[derive(Default)]
pub struct Learned {
    file: Members,
    traces: Vec<Members>,
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
            qlog: Qlog::new(vantage),
            netlog: None,
            known,
            seen: Learned::default(),
            used: Vec::new(),
            header_bytes: 0,
            is_document: false,
        }
    }

    /// Reads the file, whose first pending byte begins an object; what it learned, if the file has to be read again.
    pub fn file(mut self) -> Result<Option<Learned>, Halt> {
        match self.top() {
            Ok(()) if self.is_document => {}
            Ok(()) => return self.sequence().map(|()| None),
            Err(Stop::Cut) => self.cut("the file ends within it"),
            Err(Stop::Malformed) => self.cut("not JSON from here on; the rest is not read"),
            Err(Stop::Halt(halt)) => return Err(halt),
        }
        self.account_of_input();
        let changed = |(trace, used): (&Members, &Header)| Header::new(&self.seen.file, trace) != *used;
        let again = self.known.is_none() && self.seen.traces.iter().zip(&self.used).any(changed);
        Ok(again.then_some(self.seen))
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
                    walk.netlog = Netlog::new(&constants, walk.writer);
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
                    walk.seen.file.insert(key.to_owned(), value);
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
        self.seen.traces.push(Members::new());
        let done = self.members(|walk, key| {
            if key == "events" {
                let header = walk.header(index);
                walk.qlog.begin(header.clone(), walk.writer);
                walk.used.push(header);
                return walk.elements(Self::element);
            }
            if let Some(value) = walk.kept(key)? {
                walk.seen.traces[index].insert(key.to_owned(), value);
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
        let learned = self.known.unwrap_or(&self.seen);
        let trace = learned.traces.get(index).unwrap_or(&self.seen.traces[index]);
        Header::new(&learned.file, trace)
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

    /// The first object was the header of a sequence, or its first event.
    fn sequence(&mut self) -> Result<(), Halt> {
        let has = |key: &str| self.seen.file.contains_key(key);
        if !["qlog_version", "qlog_format", "file_schema", "trace"].into_iter().any(has) && !has("name") {
            let hint = "longlook-trace decode reads qlog, and Chromium's netlog";
            return Err(Failure::usage("the file is JSON, but neither a qlog nor an event of one").hint(hint).into());
        }
        let trace = self.seen.file.get("trace").and_then(Json::as_object).cloned().unwrap_or_default();
        self.qlog.begin(Header::new(&self.seen.file, &trace), self.writer);
        if self.seen.file.contains_key("time") && self.seen.file.contains_key("name") {
            let first = Json::Object(std::mem::take(&mut self.seen.file)).to_string();
            self.writer.account.warn(1, 0, "the file has no header");
            self.qlog.event(first.as_bytes(), (1, 0), self.writer)?;
        }
        let marked = self.writer.account.container == "json-seq" && self.next_is_marked();
        let end = if marked { RECORD_MARK } else { b'\n' };
        while self.input.skip_space().is_some() {
            let place = self.input.place();
            let Some(length) = self.record_length(end) else {
                self.too_long(place);
                continue;
            };
            let whole = &self.input.pending()[..length];
            let blank = whole.iter().rev().take_while(|byte| is_between(**byte)).count();
            let last = self.input.ended() && length == self.input.pending().len();
            let record = &self.input.pending()[..length - blank];
            if last && !is_complete(record) {
                self.cut_off(place);
            } else if memchr::memchr(b'\n', record).is_some() && !is_complete(record) {
                // Marks are missing, or a record is broken: lines show where the next one begins.
                for line in record.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
                    self.qlog.event(line, place, self.writer)?;
                }
            } else {
                self.qlog.event(record, place, self.writer)?;
            }
            self.input.consume(length);
        }
        self.account_of_input();
        Ok(())
    }

    /// Whether a record mark comes next: some files have one before their header only.
    fn next_is_marked(&mut self) -> bool {
        loop {
            let next = self.input.pending().iter().copied().find(|byte| !byte.is_ascii_whitespace());
            if next.is_some() || !self.input.more() {
                return next == Some(RECORD_MARK);
            }
        }
    }

    /// Bytes of the pending record, without the byte that ends it; `None` when it was too long, and is consumed.
    fn record_length(&mut self, end: u8) -> Option<usize> {
        let mut scanned = 0;
        let mut kept = true;
        loop {
            let pending = self.input.pending();
            let found = memchr::memchr(end, &pending[scanned..]).map(|at| scanned + at);
            let length = found.unwrap_or(pending.len());
            if length > crate::input::LONGEST_BYTES || !kept {
                kept = false;
                self.input.consume(length);
                scanned = 0;
            } else {
                scanned = length;
            }
            if found.is_some() || !self.input.more() {
                return kept.then_some(scanned);
            }
        }
    }
}

fn is_complete(record: &[u8]) -> bool {
    let mut cursor = crate::json::Cursor::new(record);
    cursor.skip().is_ok() && cursor.position() == record.len()
}
