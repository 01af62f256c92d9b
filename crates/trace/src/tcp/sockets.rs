//! Which sockets a recording is of. Its tracepoints speak of all sockets of the machine with the port, and most of them
//! name a socket by addresses and place in memory alone; `sock_diag` knows those of the one network namespace.

use std::collections::BTreeMap;
use std::io::Read;

use longlook_tcptrace::file::{Reader, Record};

use super::message::{Ends, Message};
use super::points::{Point, Points};

/// One socket, and what of it must be known before its first event is read.
#[derive(Debug, Clone)]
pub struct Socket {
    /// Which.
    pub cookie: u64,
    /// Its addresses.
    pub ends: Ends,
    /// Whether `sock_diag` has reported it, so that it belongs to the recorded namespace.
    asked: bool,
    /// Bytes of a full segment as first known.
    pub mss: Option<i64>,
    /// Its place in memory, from its probes.
    place: Option<u64>,
}

/// All sockets, in the order in which they appear.
#[derive(Debug, Default)]
pub struct Sockets {
    all: Vec<Socket>,
    by_cookie: BTreeMap<u64, usize>,
    by_ends: BTreeMap<Ends, Vec<usize>>,
}

impl Sockets {
    /// Reads a recording through. Damage ends it, as it will end the second reading.
    pub fn find<R: Read>(reader: &mut Reader<R>, points: &Points) -> Self {
        let mut found = Self::default();
        while let Ok(Some(record)) = reader.next_record() {
            match record {
                Record::Sample { socket, .. } | Record::Gone { socket, .. } => {
                    if let Some(message) = Message::parse(socket) {
                        let entry = found.entry(message.cookie, message.ends);
                        entry.asked = true;
                        entry.mss = entry.mss.or(message.mss());
                    }
                }
                Record::Event { raw, .. } => {
                    if let Ok(Point::Probe { cookie, socket, ends, .. }) = points.read(raw) {
                        found.entry(cookie, ends).place = Some(socket);
                    }
                }
                Record::Lost { .. } | Record::End { .. } => {}
            }
        }
        if reader.header.sock_diag { found.of_namespace() } else { found }
    }

    fn entry(&mut self, cookie: u64, ends: Ends) -> &mut Socket {
        let number = *self.by_cookie.entry(cookie).or_insert_with(|| {
            self.all.push(Socket { cookie, ends, asked: false, mss: None, place: None });
            self.by_ends.entry(ends).or_default().push(self.all.len() - 1);
            self.all.len() - 1
        });
        &mut self.all[number]
    }

    /// Returns the sockets that `sock_diag` has reported.
    fn of_namespace(self) -> Self {
        let mut kept = Self::default();
        for socket in self.all.into_iter().filter(|socket| socket.asked) {
            let (cookie, ends) = (socket.cookie, socket.ends);
            *kept.entry(cookie, ends) = socket;
        }
        kept
    }

    /// All of them.
    pub fn all(&self) -> &[Socket] {
        &self.all
    }

    /// The number of a socket by its cookie.
    pub fn with_cookie(&self, cookie: u64) -> Option<usize> {
        self.by_cookie.get(&cookie).copied()
    }

    /// The number of the socket whose event it is; None where it is none of ours.
    pub fn owner(&self, point: &Point) -> Option<usize> {
        match point {
            Point::Probe { cookie, .. } => self.with_cookie(*cookie),
            Point::Congestion { socket, ends, .. }
            | Point::Retransmission { socket, ends, .. }
            | Point::Reset { socket, ends }
            | Point::Life { socket, ends, .. } => self.at(*socket, ends),
        }
    }

    /// The socket with these addresses that lay there; of one whose place is not known the addresses must do.
    fn at(&self, place: u64, ends: &Ends) -> Option<usize> {
        let numbers = self.by_ends.get(ends)?;
        let lay = |wanted: Option<u64>| numbers.iter().copied().find(|number| self.all[*number].place == wanted);
        lay(Some(place)).or_else(|| lay(None))
    }
}
