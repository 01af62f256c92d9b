//! Sockets of clients, and the kernel's answers about them.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Larger than any datagram.
pub const LARGEST_DATAGRAM: usize = 65_536;

/// Open a UDP socket on the address that the kernel would send from to `remote`; it is not connected.
pub fn towards(remote: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if remote.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let probe = UdpSocket::bind(any)?;
    probe.connect(remote)?; // sends nothing
    let local = probe.local_addr()?.ip();
    drop(probe);
    UdpSocket::bind((local, 0))
}

/// Return the congestion control of this TCP socket, as the kernel reports it.
pub fn congestion_control(socket: BorrowedFd<'_>) -> io::Result<String> {
    let mut name = [0u8; 16]; // TCP_CA_NAME_MAX
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the buffer and its length belong together and live through the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let text = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_reports_congestion_control() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let default = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
        assert_eq!(congestion_control(listener.as_fd()).unwrap(), default.trim());
    }

    #[test]
    fn a_socket_of_ones_own() {
        let socket = towards("127.0.0.1:9".parse().unwrap()).unwrap();
        assert_eq!(socket.local_addr().unwrap().ip().to_string(), "127.0.0.1");
    }
}
