//! The answers of one connection, as far as its streams take them.

use std::collections::BTreeMap;

use longlook_adapter::files::Folder;
use longlook_adapter::{head, response};
use quiche::h3::{self, Error, Event, Header, NameValue};

use crate::connection::Connection;

/// At most as large as the header of an HTTP/3 frame, type and length.
const FRAME_HEADER_BYTES: usize = 9;

type Response = response::Response<Vec<u8>>;

/// Answers that are not complete, by stream.
#[derive(Default)]
pub struct Responses(BTreeMap<u64, Response>);

impl Responses {
    /// Take the requests that have come, and write what the streams take.
    pub fn progress(&mut self, connection: &mut Connection, files: &Folder) {
        let Some(http) = &mut connection.http else { return };
        loop {
            match http.poll(&mut connection.quic) {
                Ok((stream, Event::Headers { list, .. })) => {
                    let field = |name| head::value(list.iter().map(|field| (field.name(), field.value())), name);
                    self.0.insert(stream, Response::new(files.answer(&field(":method"), &field(":path"))));
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
        self.0.retain(|stream, response| match write(response, *stream, http, &mut connection.quic) {
            Ok(complete) => !complete,
            Err(reason) => {
                eprintln!("stream {stream}: {reason}");
                let _ = connection.quic.stream_shutdown(*stream, quiche::Shutdown::Write, 0x102); // H3_INTERNAL_ERROR
                false
            }
        });
    }
}

/// Write what the stream takes. Return whether all is written.
fn write(
    response: &mut Response,
    stream: u64,
    http: &mut h3::Connection,
    quic: &mut quiche::Connection,
) -> Result<bool, String> {
    if !response.head_sent {
        let fields = response.head().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        match http.send_response(quic, stream, &fields, response.is_last()) {
            Ok(()) => response.head_sent = true,
            Err(Error::StreamBlocked | Error::Done) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
    }
    while response.read().map_err(|error| error.to_string())? {
        // Each attempt that finds the connection blocked would put another DATA_BLOCKED into a packet of its own, whose
        // acknowledgement would bring the next attempt.
        if quic.stream_capacity(stream).is_ok_and(|bytes| bytes <= FRAME_HEADER_BYTES) {
            return Ok(false);
        }
        let (part, taken) = response.part();
        match http.send_body(quic, stream, &part[taken..], response.is_last()) {
            Ok(written) => response.sent(written),
            Err(Error::Done | Error::StreamBlocked) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(true)
}
