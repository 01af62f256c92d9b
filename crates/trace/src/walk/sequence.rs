//! A header and a sequence of events: lines of JSON, or a JSON text sequence (RFC 7464).

use longlook_support::failure::Failure;
use serde_json::Value as Json;

use crate::input::{LONGEST_BYTES, RECORD_MARK, is_between};
use crate::json::{Cursor, Members};
use crate::qlog::header::Header;
use crate::walk::Walk;
use crate::writer::Halt;

/// Members of which a header has at least one, and an event none.
const OF_HEADERS: [&str; 4] = ["qlog_version", "qlog_format", "file_schema", "trace"];
/// A header is no longer than this.
const LONGEST_HEADER_BYTES: usize = 1 << 20;

impl Walk<'_> {
    /// The object that was read last is the header of a sequence, or its first event.
    pub(super) fn sequence(&mut self, place: (u64, u64)) -> Result<(), Halt> {
        let first = std::mem::take(self.document());
        let is_event = !is_header(&first);
        if is_event && !first.contains_key("name") {
            if self.seen.documents.len() > 1 {
                self.skip("neither a qlog nor an event of one", place);
            } else {
                let hint = "longlook-trace decode reads qlog, and Chromium's netlog";
                return Err(Failure::usage("the file is JSON, but neither a qlog nor an event of one")
                    .hint(hint)
                    .into());
            }
        } else {
            self.begin(&first);
        }
        if first.contains_key("time") && first.contains_key("name") {
            self.writer.account.warn(place.0, place.1, "the file has no header");
            self.qlog.event(Json::Object(first).to_string().as_bytes(), place, self.writer)?;
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
            if let Some(header) = later_header(record) {
                // Files were joined: another connection's follows.
                self.begin(&header);
                self.input.consume(length);
                continue;
            }
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
        Ok(())
    }

    fn begin(&mut self, header: &Members) {
        let trace = header.get("trace").and_then(Json::as_object).cloned().unwrap_or_default();
        self.qlog.begin(Header::new(header, &trace), self.writer);
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
            if length > LONGEST_BYTES || !kept {
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

fn is_header(members: &Members) -> bool {
    OF_HEADERS.iter().any(|key| members.contains_key(*key))
}

/// A header in the place of an event.
fn later_header(record: &[u8]) -> Option<Members> {
    let is_known = |key: &[u8]| OF_HEADERS.iter().any(|known| known.as_bytes() == key);
    let mut cursor = Cursor::new(record);
    // An event's own first member tells at once; of another, all of it is read.
    if record.starts_with(br#"{"time""#) || record.len() > LONGEST_HEADER_BYTES || cursor.peek().ok()? != b'{' {
        return None;
    }
    let (mut of_header, mut of_event) = (false, false);
    let read = cursor.object(|key, cursor| {
        of_header |= is_known(key);
        of_event |= matches!(key, b"name" | b"time" | b"data");
        cursor.skip().map(|_| ())
    });
    if read.is_err() || !of_header || of_event {
        return None;
    }
    serde_json::from_slice(record).ok()
}

fn is_complete(record: &[u8]) -> bool {
    let mut cursor = Cursor::new(record);
    cursor.skip().is_ok() && cursor.position() == record.len()
}
