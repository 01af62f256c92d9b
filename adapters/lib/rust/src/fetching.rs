//! One connection of a client and the objects that it fetches.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use crate::clock::now_ns;
use crate::failure::Failure;
use crate::job::Job;
use crate::lines::{ConnectionLine, emit};
use crate::load::Load;
use crate::socket;
use crate::transport::{Connector, SharedLoad, Socket, Transport};

/// What a connection is opened for.
pub struct Opening<'a> {
    /// The paths to fetch, phase after phase.
    pub phases: Vec<Vec<String>>,
    /// The connection is only to obtain a ticket.
    pub primes: bool,
    /// The ticket to resume from.
    pub ticket: Option<&'a [u8]>,
    /// When the connection was asked for, nanoseconds since 1970.
    pub t_start_ns: u64,
}

/// A connection at work.
pub struct Fetching<T> {
    /// The connection.
    pub transport: T,
    load: SharedLoad,
    local: SocketAddr,
    remote: SocketAddr,
    primes: bool,
    ticket: Option<Vec<u8>>,
    t_start_ns: u64,
    done: bool,
}

impl<T: Transport> Fetching<T> {
    /// Open a connection from a socket of its own, and begin with the first phase; nothing is sent yet.
    pub fn open<C: Connector<Transport = T>>(
        connector: &mut C,
        job: &Job,
        opening: Opening<'_>,
    ) -> Result<Self, String> {
        let Opening { phases, primes, ticket, t_start_ns } = opening;
        let udp = socket::towards(job.remote).map_err(|error| error.to_string())?;
        udp.set_nonblocking(true).map_err(|error| error.to_string())?;
        let local = udp.local_addr().map_err(|error| error.to_string())?;
        let load = Rc::new(RefCell::new(Load::new(job, phases, local, primes, t_start_ns)));
        let transport = connector.open(job, Socket { udp, local }, ticket, load.clone())?;
        Ok(Self { transport, load, local, remote: job.remote, primes, ticket: None, t_start_ns, done: false })
    }

    /// Return whether nothing is to be done any more; the connection is closed then.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Return whether all objects have arrived.
    pub fn is_complete(&self) -> bool {
        self.done && self.load.borrow().failure().is_none()
    }

    /// Return the ticket that a priming connection has obtained.
    pub fn into_ticket(self) -> Result<Vec<u8>, String> {
        match self.load.borrow().failure() {
            Some(reason) => Err(reason.into()),
            None => self.ticket.ok_or_else(|| "no session ticket".into()),
        }
    }

    /// Do everything that is possible since the last step; `buffer` has room for any datagram.
    pub fn step(&mut self, buffer: &mut [u8], deadline: Instant, too_late: &str) -> Result<(), Failure> {
        self.transport.receive(buffer)?;
        self.progress(); // requests before packets: early data leaves with the first of them
        self.transport.send()?;
        if T::CALLS_BACK {
            self.progress();
        }
        if Instant::now() >= deadline {
            self.give_up(too_late);
        }
        if T::CALLS_BACK { self.transport.send() } else { Ok(()) }
    }

    fn progress(&mut self) {
        self.report_when_established();
        self.send_requests();
        self.transport.take_answers();
        while self.begins_phase() {
            self.send_requests();
        }
        if self.primes {
            self.ticket = self.transport.ticket();
        }
        if self.has_all() {
            self.finish();
        } else if let Some(reason) = self.transport.close_reason() {
            self.give_up(&reason);
        }
    }

    fn report_when_established(&mut self) {
        let Some(established) = self.transport.established() else { return };
        let mut line = ConnectionLine::at(established.t_handshake_ns, "h3", self.local, self.remote);
        line.primes = Some(self.primes);
        line.t_start_ns = Some(self.t_start_ns);
        line.resumed = established.resumed;
        line.used_0rtt = established.used_0rtt;
        line.gso = Some(false);
        emit(&line);
    }

    fn send_requests(&mut self) {
        loop {
            let load = self.load.borrow();
            let Some(path) = load.next_path() else { return };
            let Some(stream) = self.transport.open_request(load.authority(), path) else { return };
            drop(load);
            self.load.borrow_mut().asked(stream);
        }
    }

    fn begins_phase(&mut self) -> bool {
        let mut load = self.load.borrow_mut();
        load.is_idle() && load.begin_phase(now_ns())
    }

    fn has_all(&self) -> bool {
        let load = self.load.borrow();
        load.is_idle() && (!self.primes || load.failure().is_some() || self.ticket.is_some())
    }

    fn give_up(&mut self, reason: &str) {
        if !self.done {
            self.load.borrow_mut().give_up(reason);
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.transport.close();
        self.done = true;
    }
}
