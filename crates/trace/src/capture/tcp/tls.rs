//! Where the handshake of TLS ends in a TCP connection, by the headers of its records (RFC 8446, 5.1), which are not
//! encrypted.

const HEADER_BYTES: usize = 5;
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION: u8 = 23;
/// Of TLS 1.3 a client's last message of the handshake, by its hash of 32 or 48 bytes: it is a record of its own.
const FINISHED_BYTES: [u16; 2] = [53, 69];

/// What a segment's data belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Handshake,
    Application,
}

/// Follows the records of one connection until its client sends data.
#[derive(Default)]
pub struct Records {
    client: Direction,
    server: Direction,
    /// There is no TLS, data has begun, or records can no longer be followed.
    over: bool,
    /// Whether the end of the handshake was seen.
    pub complete: bool,
}

#[derive(Default)]
struct Direction {
    /// Bytes that were followed, and where the next record begins.
    next: i64,
    record: i64,
    header: Vec<u8>,
    handshake_begun: bool,
    encrypted: bool,
}

impl Records {
    /// Data of one end: `offset` is its place in the stream.
    pub fn see(&mut self, by_client: bool, offset: i64, data: &[u8], length: usize) -> Part {
        if self.over {
            return Part::Application;
        }
        let server_answered = self.server.encrypted;
        let mut own = std::mem::take(if by_client { &mut self.client } else { &mut self.server });
        let part = self.follow(&mut own, by_client, server_answered, offset, data, length);
        *(if by_client { &mut self.client } else { &mut self.server }) = own;
        part
    }

    fn follow(
        &mut self,
        own: &mut Direction,
        by_client: bool,
        server_answered: bool,
        offset: i64,
        data: &[u8],
        length: usize,
    ) -> Part {
        let end = offset + length as i64;
        if end <= own.next {
            return Part::Handshake;
        }
        if offset > own.next {
            self.over = true; // a hole: what comes is not known
            return Part::Application;
        }
        let mut at = own.next;
        own.next = end;
        while at < end {
            if own.record > at {
                at = own.record.min(end);
                continue;
            }
            let Some(byte) = data.get((at - offset) as usize) else {
                self.over = true; // it was not kept
                return Part::Handshake;
            };
            own.header.push(*byte);
            at += 1;
            if own.header.len() < HEADER_BYTES {
                continue;
            }
            let (kind, bytes) = (own.header[0], u16::from_be_bytes([own.header[3], own.header[4]]));
            let is_record = own.header[1] == 3 && (CHANGE_CIPHER_SPEC..=APPLICATION).contains(&kind);
            own.header.clear();
            own.record = at + i64::from(bytes);
            if !is_record || (!own.handshake_begun && kind != HANDSHAKE) {
                self.over = true;
                return Part::Application;
            }
            own.handshake_begun |= kind == HANDSHAKE;
            if kind != APPLICATION {
                continue;
            }
            own.encrypted = true;
            if by_client && !self.complete && server_answered && FINISHED_BYTES.contains(&bytes) {
                self.complete = true;
            } else if by_client {
                (self.over, self.complete) = (true, true);
                return Part::Application;
            }
        }
        Part::Handshake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, bytes: u16) -> Vec<u8> {
        let mut record = vec![kind, 3, 3];
        record.extend_from_slice(&bytes.to_be_bytes());
        record.resize(HEADER_BYTES + usize::from(bytes), 0);
        record
    }

    #[test]
    fn a_handshake_ends_with_the_clients_first_data() {
        let mut records = Records::default();
        let hello = record(22, 512);
        assert_eq!(records.see(true, 0, &hello, hello.len()), Part::Handshake);
        let flight = [record(22, 90), record(20, 1), record(23, 2000)].concat();
        assert_eq!(records.see(false, 0, &flight[..1448], 1448), Part::Handshake);
        assert_eq!(records.see(false, 1448, &flight[1448..], flight.len() - 1448), Part::Handshake);
        let last = [record(20, 1), record(23, 53)].concat();
        assert_eq!(records.see(true, 517, &last, last.len()), Part::Handshake);
        assert!(records.complete);
        let at = 517 + last.len() as i64;
        assert_eq!(records.see(true, at, &record(23, 100), 105), Part::Application);
    }

    #[test]
    fn other_data_is_the_applications() {
        let mut records = Records::default();
        assert_eq!(records.see(true, 0, b"GET / HTTP/1.1\r\n\r\n", 18), Part::Application);
        assert_eq!(records.see(false, 0, b"HTTP/1.1 200 OK\r\n", 17), Part::Application);
        assert!(!records.complete);
    }
}
