//! The answers of one connection, as far as its streams take them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use longlook_adapter::files::{Answer, Folder};
use quiche::h3::{Error, Event, Header, NameValue};

use crate::link::Link;

const PART_BYTES: usize = 64 << 10;
/// Of HTTP/3: type and length; at most.
const FRAME_HEADER_BYTES: usize = 9;

/// Answers that are not complete, by stream.
#[derive(Default)]
pub struct Responses(BTreeMap<u64, Response>);

struct Response {
    answer: Answer,
    headers_sent: bool,
    /// Of the file, not read yet; bytes.
    left: u64,
    part: Vec<u8>,
    taken: usize,
}

impl Responses {
    /// Take the requests that have come, and write what the streams take.
    pub fn progress(&mut self, link: &mut Link, files: &Folder) {
        let Some(http) = &mut link.http else { return };
        loop {
            match http.poll(&mut link.quic) {
                Ok((stream, Event::Headers { list, .. })) => {
                    let response = Response::new(files.answer(&value(&list, b":method"), &value(&list, b":path")));
                    self.0.insert(stream, response);
                }
                Ok((stream, Event::Reset(_))) => {
                    self.0.remove(&stream);
                }
                Ok(_) => {}
                Err(Error::Done) => break,
                Err(error) => {
                    eprintln!("HTTP/3: {error}");
                    break;
                }
            }
        }
        self.0.retain(|stream, response| match response.write(*stream, http, &mut link.quic) {
            Ok(complete) => !complete,
            Err(reason) => {
                eprintln!("stream {stream}: {reason}");
                let _ = link.quic.stream_shutdown(*stream, quiche::Shutdown::Write, 0x102); // H3_INTERNAL_ERROR
                false
            }
        });
    }
}

impl Response {
    fn new(answer: Answer) -> Self {
        let left = if answer.body.is_some() { answer.length } else { 0 };
        Self { answer, headers_sent: false, left, part: Vec::new(), taken: 0 }
    }

    /// True when all is written.
    fn write(
        &mut self,
        stream: u64,
        http: &mut quiche::h3::Connection,
        quic: &mut quiche::Connection,
    ) -> Result<bool, String> {
        if !self.headers_sent {
            match http.send_response(quic, stream, &self.headers(), self.left == 0) {
                Ok(()) => self.headers_sent = true,
                Err(Error::StreamBlocked | Error::Done) => return Ok(false),
                Err(error) => return Err(error.to_string()),
            }
        }
        while self.taken < self.part.len() || self.left > 0 {
            if self.taken == self.part.len() {
                self.read().map_err(|error| error.to_string())?;
            }
            // Each attempt that finds the connection blocked would put another DATA_BLOCKED into a packet of its own, whose
            // acknowledgement would bring the next attempt.
            if quic.stream_capacity(stream).is_ok_and(|bytes| bytes <= FRAME_HEADER_BYTES) {
                return Ok(false);
            }
            match http.send_body(quic, stream, &self.part[self.taken..], self.left == 0) {
                Ok(written) => self.taken += written,
                Err(Error::Done | Error::StreamBlocked) => return Ok(false),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(true)
    }

    fn headers(&self) -> Vec<Header> {
        let status = Header::new(b":status", self.answer.status.to_string().as_bytes());
        let rest = self.answer.headers().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        std::iter::once(status).chain(rest).collect()
    }

    fn read(&mut self) -> std::io::Result<()> {
        let file: &mut File = self.answer.body.as_mut().expect("bytes are left only where there is a body");
        self.part.resize(PART_BYTES.min(self.left as usize), 0);
        file.read_exact(&mut self.part)?;
        self.left -= self.part.len() as u64;
        self.taken = 0;
        Ok(())
    }
}

fn value(headers: &[Header], name: &[u8]) -> String {
    let found = headers.iter().find(|header| header.name() == name);
    found.map(|header| String::from_utf8_lossy(header.value()).into_owned()).unwrap_or_default()
}
