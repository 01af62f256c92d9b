//! The interface between the client loop (`client`) and a QUIC library with HTTP/3, which implements it.

use std::cell::RefCell;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Instant;

use crate::failure::Failure;
use crate::job::Job;
use crate::load::Load;

/// The objects of a connection. The loop and the transport share them, because some libraries give answers only by
/// calling back while they send.
pub type SharedLoad = Rc<RefCell<Load>>;

/// A socket for one connection: not connected, and never blocking.
pub struct Socket {
    /// The socket.
    pub udp: UdpSocket,
    /// Its address.
    pub local: SocketAddr,
}

/// Opens connections, all with the same configuration.
pub trait Connector {
    /// The library's connection.
    type Transport: Transport;

    /// Allow connections that are opened from now on to send early data.
    fn enable_early_data(&mut self) -> Result<(), Failure>;

    /// Begin a connection to the job's server, which resumes TLS where there is a ticket. Nothing is sent yet.
    fn open(
        &mut self,
        job: &Job,
        socket: Socket,
        ticket: Option<&[u8]>,
        load: SharedLoad,
    ) -> Result<Self::Transport, String>;
}

/// How a handshake ended.
#[derive(Clone, Copy)]
pub struct Established {
    /// TLS was resumed.
    pub resumed: bool,
    /// Early data was sent and taken.
    pub used_0rtt: bool,
    /// When the handshake was complete, nanoseconds since 1970.
    pub t_handshake_ns: u64,
}

/// One connection and its socket, which `AsRawFd` gives.
pub trait Transport: AsRawFd {
    /// The library takes answers while it sends, by calling back: after `send` there may be more to do and to send.
    const CALLS_BACK: bool;

    /// Read all datagrams that have come, and run the timers that are due.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure>;

    /// Send what may be sent now.
    fn send(&mut self) -> Result<(), Failure>;

    /// Return how the handshake ended, once, after it is complete.
    fn established(&mut self) -> Option<Established>;

    /// Request a path on a new stream. Return the stream, or None where no request is possible now.
    fn open_request(&mut self, authority: &str, path: &str) -> Option<u64>;

    /// Put the answers that have come into the load; does nothing where the library calls back.
    fn take_answers(&mut self);

    /// Return the session ticket; None while the server has given none.
    fn ticket(&mut self) -> Option<Vec<u8>>;

    /// Return why the connection is over; None while it is not.
    fn close_reason(&mut self) -> Option<String>;

    /// Close the connection without an error; the packet leaves now, or with `send` where the library calls back.
    fn close(&mut self);

    /// Return when there is something to do if nothing comes; None for never.
    fn next_time(&self) -> Option<Instant>;

    /// Return whether the socket took no more datagrams, so that its readiness to write is waited for.
    fn is_blocked(&self) -> bool;
}

/// Something that came from the server on a stream.
pub enum Event {
    /// The head of an answer, with its status.
    Head(u16),
    /// Bytes of a body can be read.
    Data,
    /// The answer is complete.
    Finished,
    /// The server gave the answer up, with this code.
    Reset(u64),
    /// Anything else.
    Other,
}

/// HTTP/3 of a library, as far as answers are concerned.
pub trait Answers {
    /// Return the next event and its stream; None where there is none, now or ever.
    fn poll(&mut self) -> Option<(u64, Event)>;

    /// Read bytes of a body into `buffer`. Return how many; None where there are none, now or ever.
    fn read(&mut self, stream: u64, buffer: &mut [u8]) -> Option<usize>;
}

/// Put all answers that have come into `load`.
pub fn take_answers(answers: &mut impl Answers, load: &mut Load) {
    let mut part = [0; 16 << 10];
    while let Some((stream, event)) = answers.poll() {
        match event {
            Event::Head(status) => {
                if let Some(object) = load.on(stream) {
                    object.headers("h3", status);
                }
            }
            Event::Data => {
                let Some(object) = load.on(stream) else { continue };
                while let Some(length) = answers.read(stream, &mut part) {
                    object.body(&part[..length]);
                }
            }
            Event::Finished => load.finished(stream),
            Event::Reset(code) => load.reset(stream, code),
            Event::Other => {}
        }
    }
}
