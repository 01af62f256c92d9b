//! A job: priming where a ticket is wanted, then all connections at once, each for itself.

use std::io::{ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::time::Instant;

use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, PRIME_PATH, State};
use longlook_adapter::objects::fail_all;
use longlook_adapter::wait;

use crate::fetching::{Fetching, Opening};
use crate::link::LARGEST_DATAGRAM;
use crate::settings;

/// Do a job; its failure says only that something did not arrive, the lines say what.
pub fn run(mut job: Job) -> std::result::Result<(), Failure> {
    let mut config = settings::config(&job.protocol, false, std::mem::take(&mut job.knobs))?;
    config.verify_peer(true);
    config.load_verify_locations_from_file(&job.ca).map_err(|error| Failure::of(&job.ca, error))?;
    let http = settings::http()?;
    wait::be_punctual();
    let deadline = Instant::now() + job.timeout;
    let mut ticket = None;
    if job.state != State::Cold {
        match prime(&job, &mut config, &http, deadline) {
            Ok(earned) => ticket = Some(earned),
            Err(reason) => {
                let reason = format!("priming connection: {reason}");
                for _ in 0..job.connections {
                    fail_all(&job.site(), &job.phases, now_ns(), &reason);
                }
                return Err(Failure::Reported);
            }
        }
    }
    if job.state == State::ZeroRtt {
        config.enable_early_data();
    }
    let mut complete = true;
    let mut all = Vec::new();
    for _ in 0..job.connections {
        let opening = Opening { primes: false, ticket: ticket.as_deref(), t_start_ns: now_ns() };
        match Fetching::open(&job, job.phases.clone(), opening, &mut config) {
            Ok(fetching) => all.push(fetching),
            Err(reason) => {
                fail_all(&job.site(), &job.phases, now_ns(), &reason);
                complete = false;
            }
        }
    }
    drive(&mut all, &http, deadline, &job.too_late()).map_err(|error| Failure::of("UDP socket", error))?;
    complete &= all.iter().all(Fetching::is_complete);
    if complete { Ok(()) } else { Err(Failure::Reported) }
}

/// Earn a ticket on a connection of its own, and close it properly.
fn prime(
    job: &Job,
    config: &mut quiche::Config,
    http: &quiche::h3::Config,
    deadline: Instant,
) -> std::result::Result<Vec<u8>, String> {
    let opening = Opening { primes: true, ticket: None, t_start_ns: now_ns() };
    let mut one = [Fetching::open(job, vec![vec![PRIME_PATH.into()]], opening, config)?];
    drive(&mut one, http, deadline, &job.too_late()).map_err(|error| error.to_string())?;
    one[0].ticket()
}

/// Until all are done, or it is too late.
fn drive(all: &mut [Fetching], http: &quiche::h3::Config, deadline: Instant, too_late: &str) -> Result<()> {
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        for fetching in all.iter_mut().filter(|fetching| !fetching.is_done()) {
            receive(fetching, &mut buffer)?;
            fetching.link.tick();
            fetching.link.flush(&fetching.socket)?; // the first packet of all makes early data possible
            fetching.progress(http);
            fetching.link.flush(&fetching.socket)?;
            if Instant::now() >= deadline {
                fetching.give_up(too_late);
            }
        }
        let open: Vec<&Fetching> = all.iter().filter(|fetching| !fetching.is_done()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let until = open.iter().filter_map(|fetching| fetching.link.next_time()).min();
        let sockets: Vec<(&dyn AsRawFd, bool)> =
            open.iter().map(|fetching| (&fetching.socket as &dyn AsRawFd, fetching.link.is_blocked())).collect();
        wait::ready(&sockets, Some(until.map_or(deadline, |due| due.min(deadline))))?;
    }
}

fn receive(fetching: &mut Fetching, buffer: &mut [u8]) -> Result<()> {
    loop {
        match fetching.socket.recv_from(buffer) {
            Ok((length, from)) => fetching.link.receive(&mut buffer[..length], from, fetching.local),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {} // the server may yet come
            Err(error) => return Err(error),
        }
    }
}
