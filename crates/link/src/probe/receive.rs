//! The receiving end of the probe.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::Args;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use super::failed;
use super::socket::{Arrival, Receiver};
use crate::{signals, sys};
use longlook_support::failure::{Failure, print_line};

/// Sequence, sent and received (8 bytes each), size (4), TTL, TOS, whether the payload came unharmed, 0.
const RECORD_BYTES: usize = 32;

#[derive(Args)]
pub struct Options {
    /// Where to listen
    #[arg(long, default_value = "0.0.0.0:9")]
    at: String,
    /// Records of 32 bytes: sequence, `sent_ns`, `received_ns` u8, `size_bytes` u4, ttl, tos, intact u1
    #[arg(long)]
    out: PathBuf,
    /// Stop after so many; without it, at SIGTERM
    #[arg(long, default_value_t = u64::MAX)]
    count: u64,
    /// Real-time priority; 0: none
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=99))]
    fifo: i32,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let signals = signals::open().map_err(|error| Failure::new(format!("signals cannot be awaited: {error}")))?;
    let file = File::create(&options.out).map_err(failed("the output cannot be written"))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let socket = UdpSocket::bind(&options.at).map_err(failed("the probe cannot listen"))?;
    let mut receiver = Receiver::new(socket).map_err(failed("the socket cannot be set up"))?;
    // Without it, the sender and the router leave it no time on a small machine; where it is refused, drops show that.
    let _ = options.fifo > 0 && sys::set_fifo_priority(options.fifo);
    print_line(&json!({"event": "ready"}))?;
    let mut count = 0;
    while count < options.count {
        let ended = wait(&receiver, &signals)?;
        let mut written = Ok(());
        while receiver
            .receive(|arrival| {
                count += 1;
                let done = out.write_all(&record(arrival));
                written = std::mem::replace(&mut written, Ok(())).and(done);
            })
            .map_err(failed("the probe cannot receive"))?
            > 0
        {}
        written.map_err(failed("the output cannot be written"))?;
        if ended {
            break;
        }
    }
    out.flush().map_err(failed("the output cannot be written"))?;
    print_line(&json!({"event": "received", "count": count, "socket_drops": receiver.dropped}))
}

/// Waits for datagrams; true when a signal asked to stop.
fn wait(receiver: &Receiver, signals: &nix::sys::signalfd::SignalFd) -> Result<bool, Failure> {
    let mut polled =
        [PollFd::new(receiver.socket().as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, PollTimeout::NONE) {
        Ok(_) | Err(nix::Error::EINTR) => {}
        Err(error) => return Err(Failure::new(format!("waiting for packets failed: {error}"))),
    }
    Ok(polled[1].any().unwrap_or(true))
}

fn record(arrival: Arrival) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(&arrival.sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&arrival.sent_ns.to_le_bytes());
    bytes[16..24].copy_from_slice(&arrival.received_ns.to_le_bytes());
    bytes[24..28].copy_from_slice(&arrival.size_bytes.to_le_bytes());
    bytes[28..31].copy_from_slice(&[arrival.ttl, arrival.tos, u8::from(arrival.intact)]);
    bytes
}
