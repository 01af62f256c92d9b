//! One TCP connection that carries as much as it can.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use clap::Args;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::json;

use super::failed;
use longlook_support::clock::monotonic_ns;
use longlook_support::failure::{Failure, print_line};

const CHUNK_BYTES: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(3);

#[derive(Args)]
pub struct SendOptions {
    /// Where to send to
    #[arg(long, default_value = "198.18.0.2:9")]
    to: SocketAddr,
    /// For how long
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

#[derive(Args)]
pub struct ReceiveOptions {
    /// Where to listen
    #[arg(long, default_value = "0.0.0.0:9")]
    at: String,
    /// Seconds from the first byte that do not count: slow start
    #[arg(long, default_value_t = 1.0)]
    skip: f64,
}

pub fn send(options: &SendOptions) -> Result<(), Failure> {
    let mut stream = TcpStream::connect_timeout(&options.to, PATIENCE).map_err(failed("the probe cannot connect"))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed("the socket cannot be set up"))?;
    // The same everywhere, where it may be chosen: what a kernel prefers by itself may pace.
    let chosen = setsockopt(&stream, sockopt::TcpCongestion, &OsString::from("cubic")).is_ok();
    let chunk = vec![0; CHUNK_BYTES];
    let end_ns = monotonic_ns() + (options.seconds * 1e9) as u64;
    let mut sent_bytes = 0_u64;
    while monotonic_ns() < end_ns {
        sent_bytes += stream.write(&chunk).map_err(failed("sending failed"))? as u64;
    }
    print_line(&json!({"event": "sent", "bytes": sent_bytes, "cubic": u8::from(chosen)}))
}

pub fn receive(options: &ReceiveOptions) -> Result<(), Failure> {
    let listener = TcpListener::bind(&options.at).map_err(failed("the probe cannot listen"))?;
    print_line(&json!({"event": "ready"}))?;
    let (mut stream, _) = listener.accept().map_err(failed("no client connects"))?;
    stream.set_read_timeout(Some(SILENCE)).map_err(failed("the socket cannot be set up"))?;
    let (bytes, took_ns) = count(&mut stream, (options.skip * 1e9) as u64).map_err(failed("receiving failed"))?;
    print_line(&json!({"event": "received", "bytes": bytes, "took_ns": took_ns,
        "bits_per_second": bytes as f64 * 8e9 / took_ns.max(1) as f64}))
}

/// Bytes that came later than `skip_ns` after the first, and in what time.
fn count(stream: &mut TcpStream, skip_ns: u64) -> io::Result<(u64, u64)> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut first_ns = None;
    let (mut from_ns, mut last_ns, mut bytes) = (0, 0, 0);
    loop {
        let length = match stream.read(&mut buffer) {
            // A link that ends with the sender takes the connection's end along.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && bytes > 0 => 0,
            read => read?,
        };
        if length == 0 {
            return Ok((bytes, last_ns - from_ns));
        }
        last_ns = monotonic_ns();
        if last_ns - *first_ns.get_or_insert(last_ns) < skip_ns {
            from_ns = last_ns;
        } else {
            bytes += length as u64;
        }
    }
}
