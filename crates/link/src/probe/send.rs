//! The sending end of the probe.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;

use clap::Args;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use serde_json::json;

use super::schedule::{self, Packet};
use super::socket::{enlarge_buffers, set_option};
use super::{STAMP_BYTES, UDP_IP_BYTES, failed};
use crate::sys;
use longlook_support::clock::{monotonic_ns, unix_ns};
use longlook_support::failure::{Failure, print_line};

/// The first packet waits for its time like all others.
const LEAD_NS: u64 = 5_000_000;
const MAX_SIZE_BYTES: u32 = 1500;
/// Packets in one system call.
const BATCH: usize = 16;

#[derive(Args)]
pub struct Options {
    /// Where to send to
    #[arg(long, default_value = "198.18.0.2:9")]
    to: SocketAddr,
    /// How many packets
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// Packets a second; 0: as fast as possible
    #[arg(long, default_value_t = 1_000.0)]
    rate: f64,
    /// Packets that are sent at one time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    group: u64,
    /// Bytes of each IP packet
    #[arg(long, default_value_t = 200)]
    size: u32,
    /// Lines of `offset_ns [size_bytes [flow]]` instead of count and rate
    #[arg(long, conflicts_with_all = ["count", "rate", "group"])]
    schedule: Option<PathBuf>,
    /// The byte of the IP header that holds DSCP and ECN
    #[arg(long, default_value_t = 0)]
    tos: u8,
    /// Busy-wait for the last microseconds before a packet's time
    #[arg(long, default_value_t = 50)]
    spin_us: u64,
    /// Real-time priority; 0: none
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=99))]
    fifo: i32,
    /// The send stamps, 8 bytes each, in the order of sending
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let packets = match &options.schedule {
        Some(path) => schedule::read(path, options.size)?,
        None => schedule::regular(options.count, options.rate, options.group, options.size),
    };
    let fits = (STAMP_BYTES as u32 + UDP_IP_BYTES)..=MAX_SIZE_BYTES;
    if let Some(odd) = packets.iter().find(|packet| !fits.contains(&packet.size_bytes)) {
        return Err(Failure::usage(format!(
            "a packet of {} bytes cannot be sent: {} to {} are possible",
            odd.size_bytes,
            fits.start(),
            fits.end()
        )));
    }
    let flows = packets.iter().map(|packet| packet.flow).max().map_or(0, |last| last as usize + 1);
    let sockets = (0..flows)
        .map(|_| open(options.tos, options.to))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed("the socket cannot be set up"))?;
    // Refused nowhere; without effect on real-time threads.
    let _ = set_timerslack(1);
    let mut stamps = Vec::with_capacity(packets.len());
    let _ = mlockall(MlockAllFlags::MCL_CURRENT);
    let fifo = options.fifo > 0 && sys::set_fifo_priority(options.fifo);
    let (took_ns, unsent) =
        send(&packets, &sockets, options.spin_us * 1_000, &mut stamps).map_err(failed("sending failed"))?;
    if let Some(path) = &options.out {
        write(path, &stamps).map_err(failed("the output cannot be written"))?;
    }
    print_line(
        &json!({"event": "sent", "count": stamps.len(), "unsent": unsent, "took_ns": took_ns, "fifo": u8::from(fifo)}),
    )
}

fn open(tos: u8, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    enlarge_buffers(&socket)?;
    set_option(&socket, libc::IPPROTO_IP, libc::IP_TOS, i32::from(tos))?;
    // The route is then looked up once, and not between a packet's stamp and its leaving.
    socket.connect(to)?;
    Ok(socket)
}

/// Sends everything at its time; how long that took and how many packets the device had no room for.
fn send(packets: &[Packet], sockets: &[UdpSocket], spin_ns: u64, stamps: &mut Vec<u64>) -> io::Result<(u64, u64)> {
    let mut buffer = vec![0; BATCH * MAX_SIZE_BYTES as usize];
    let mut segments = vec![0; sockets.len()];
    let began_ns = monotonic_ns() + LEAD_NS;
    let mut unsent = 0;
    // Packets of one time, size and socket go together, without a look at the clock between them; the kernel cuts them
    // apart before the device. A system call for each would be too slow for a fast link.
    for together in packets.chunk_by(|one, next| one == next).flat_map(|same| same.chunks(BATCH)) {
        let packet = together[0];
        wait_until(began_ns + packet.offset_ns, spin_ns);
        let length = (packet.size_bytes - UDP_IP_BYTES) as usize;
        for payload in buffer.chunks_exact_mut(length).take(together.len()) {
            payload[..8].copy_from_slice(&(stamps.len() as u64).to_le_bytes());
            let sent_ns = unix_ns();
            payload[8..STAMP_BYTES].copy_from_slice(&sent_ns.to_le_bytes());
            stamps.push(sent_ns);
        }
        let socket = &sockets[packet.flow as usize];
        if together.len() > 1 && std::mem::replace(&mut segments[packet.flow as usize], length) != length {
            set_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, length as i32)?;
        }
        let data = &buffer[..length * together.len()];
        let mut done = socket.send(data);
        if done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            done = socket.send(data); // an earlier packet found no receiver: that is not this one's failure
        }
        match done {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => {
                unsent += together.len() as u64;
            }
            done => _ = done?,
        }
        // What a batch left in the payloads must not look like a harmed packet of another size.
        buffer[..length * together.len()].fill(0);
    }
    Ok((monotonic_ns() - began_ns, unsent))
}

fn wait_until(due_ns: u64, spin_ns: u64) {
    let wake_ns = due_ns - spin_ns;
    if monotonic_ns() < wake_ns {
        let until = nix::sys::time::TimeSpec::new((wake_ns / 1_000_000_000) as _, (wake_ns % 1_000_000_000) as _);
        // An early end costs only more spinning.
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until);
    }
    while monotonic_ns() < due_ns {
        std::hint::spin_loop();
    }
}

fn write(path: &PathBuf, stamps: &[u64]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for stamp in stamps {
        out.write_all(&stamp.to_le_bytes())?;
    }
    out.flush()
}
