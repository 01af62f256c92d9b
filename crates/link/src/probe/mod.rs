//! The `probe` command: measures a link from outside, so that the router's own log can be checked.
//!
//! A sender stamps each datagram right before it is sent, a receiver takes the kernel's receive stamp, both on
//! `CLOCK_REALTIME`. Everything between the two stamps is in the result: one system call, the devices, the router.

mod receive;
mod schedule;
mod send;
mod socket;
mod stream;

use clap::Subcommand;

use longlook_support::failure::Failure;

/// Sequence and send stamp, little endian, at the start of each datagram.
const STAMP_BYTES: usize = 16;
const UDP_IP_BYTES: u32 = 28;

#[derive(Subcommand)]
pub enum Command {
    /// Send numbered, stamped datagrams: paced, in groups, as fast as possible, or by a schedule
    Send(send::Options),
    /// Receive them and write down when each came
    Receive(receive::Options),
    /// Send bytes over one TCP connection for some seconds
    StreamSend(stream::SendOptions),
    /// Receive them and print how many a second they were
    StreamReceive(stream::ReceiveOptions),
}

pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Send(options) => send::run(options),
        Command::Receive(options) => receive::run(options),
        Command::StreamSend(options) => stream::send(options),
        Command::StreamReceive(options) => stream::receive(options),
    }
}

fn failed(what: &str) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::new(format!("{what}: {error}"))
}
