//! A job: priming where a ticket is wanted, then all connections at once, each for itself.

use std::os::fd::AsRawFd;
use std::time::Instant;

use crate::clock::now_ns;
use crate::failure::Failure;
use crate::fetching::{Fetching, Opening};
use crate::job::{Job, PRIME_PATH, State};
use crate::objects::{fail_all, fail_connections};
use crate::socket::LARGEST_DATAGRAM;
use crate::transport::{Connector, Transport};
use crate::wait;

/// Do a job over connections of `connector`. Lines report each object; the failure says only that one did not arrive.
pub fn run<C: Connector>(job: &Job, connector: &mut C) -> Result<(), Failure> {
    wait::be_punctual();
    let deadline = Instant::now() + job.timeout;
    let mut ticket = None;
    if job.state != State::Cold {
        match prime(job, connector, deadline) {
            Ok(obtained) => ticket = Some(obtained),
            Err(reason) => {
                fail_connections(job, &format!("priming connection: {reason}"));
                return Err(Failure::Reported);
            }
        }
    }
    if job.state == State::ZeroRtt {
        connector.enable_early_data()?;
    }
    let mut complete = true;
    let mut all = Vec::new();
    for _ in 0..job.connections {
        let t_start_ns = now_ns();
        let opening = Opening { phases: job.phases.clone(), primes: false, ticket: ticket.as_deref(), t_start_ns };
        match Fetching::open(connector, job, opening) {
            Ok(fetching) => all.push(fetching),
            Err(reason) => {
                fail_all(&job.site(), &job.phases, t_start_ns, &reason);
                complete = false;
            }
        }
    }
    drive(&mut all, deadline, &job.too_late())?;
    complete &= all.iter().all(Fetching::is_complete);
    if complete { Ok(()) } else { Err(Failure::Reported) }
}

/// Obtain a ticket on a connection of its own, and close it properly.
fn prime<C: Connector>(job: &Job, connector: &mut C, deadline: Instant) -> Result<Vec<u8>, String> {
    let phases = vec![vec![PRIME_PATH.into()]];
    let opening = Opening { phases, primes: true, ticket: None, t_start_ns: now_ns() };
    let mut one = [Fetching::open(connector, job, opening)?];
    drive(&mut one, deadline, &job.too_late()).map_err(|failure| failure.to_string())?;
    let [primed] = one;
    primed.into_ticket()
}

/// Go on until all are done, or it is too late.
fn drive<T: Transport>(all: &mut [Fetching<T>], deadline: Instant, too_late: &str) -> Result<(), Failure> {
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        for fetching in all.iter_mut().filter(|fetching| !fetching.is_done()) {
            fetching.step(&mut buffer, deadline, too_late)?;
        }
        let open: Vec<&T> = all.iter().filter(|each| !each.is_done()).map(|each| &each.transport).collect();
        if open.is_empty() {
            return Ok(());
        }
        let until = open.iter().filter_map(|transport| transport.next_time()).min();
        let sockets: Vec<(&dyn AsRawFd, bool)> =
            open.iter().map(|transport| (*transport as &dyn AsRawFd, transport.is_blocked())).collect();
        let waited = wait::ready(&sockets, Some(until.map_or(deadline, |due| due.min(deadline))));
        waited.map_err(|error| Failure::of("UDP sockets", error))?;
    }
}
