//! TCP Fast Open (RFC 7413): data in the SYN. The kernel refuses neither option where its setting does not allow it, so
//! that setting is read.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use longlook_adapter::failure::Failure;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const SETTING: &str = "/proc/sys/net/ipv4/tcp_fastopen";
const CLIENT: u32 = 1;
const SERVER: u32 = 2;
const QUEUE: libc::c_int = 64;

/// Connect, and send what is written first in the SYN where a cookie of the server is known.
pub async fn connect(remote: SocketAddr) -> Result<TcpStream, String> {
    let socket = if remote.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(|error| error.to_string())?;
    allowed(CLIENT)?;
    set(&socket, libc::TCP_FASTOPEN_CONNECT, 1).map_err(|error| format!("TCP_FASTOPEN_CONNECT: {error}"))?;
    socket.connect(remote).await.map_err(|error| error.to_string())
}

/// Give cookies to clients of a listener, and take data in their SYNs.
pub fn accept(listener: &TcpListener) -> Result<(), Failure> {
    allowed(SERVER).map_err(Failure::Unsupported)?;
    set(listener, libc::TCP_FASTOPEN, QUEUE).map_err(|error| Failure::of("TCP_FASTOPEN", error))
}

fn allowed(side: u32) -> Result<(), String> {
    let text = fs::read_to_string(SETTING).map_err(|error| format!("{SETTING}: {error}"))?;
    match text.trim().parse::<u32>() {
        Ok(setting) if setting & side != 0 => Ok(()),
        _ => Err(format!("{SETTING} is {}: fast open of this side is off", text.trim())),
    }
}

fn set(socket: &impl AsRawFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the value lives through the call, and its length is its own.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
