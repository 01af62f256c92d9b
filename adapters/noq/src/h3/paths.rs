//! Multipath QUIC: the second path of a client's connection, and the line that says what each path carried.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longlook_adapter::clock::now_ns;
use longlook_adapter::lines::emit;
use longlook_adapter::socket;
use noq::{FourTuple, Path, PathError, PathId, PathStatus};
use serde::Serialize;

/// How long a client waits for connection ids of another path, which the server sends soon after the handshake.
const NEXT_TRY: Duration = Duration::from_millis(1);

/// A client's second path, once it is open.
#[derive(Clone, Default)]
pub struct SecondPath(Arc<Mutex<Option<(Path, u64)>>>);

/// One path of a connection over several.
#[derive(Serialize)]
struct PathLine {
    event: &'static str,
    connection: SocketAddr,
    local: SocketAddr,
    remote: SocketAddr,
    t_start_ns: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

/// Open a socket that sends from all addresses of ours, and return the address that it sends to `remote` from by itself.
pub fn socket_of_all(remote: SocketAddr) -> std::io::Result<(UdpSocket, SocketAddr)> {
    let usual = socket::towards(remote)?.local_addr()?.ip();
    let all: IpAddr = if remote.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((all, 0))?;
    let local = SocketAddr::new(usual, socket.local_addr()?.port());
    Ok((socket, local))
}

impl SecondPath {
    /// Open it from the address `from` as soon as the handshake is confirmed, if both ends agreed on several paths.
    pub async fn open(self, quic: noq::Connection, remote: SocketAddr, from: IpAddr) {
        if quic.handshake_confirmed().await.is_err() || !quic.is_multipath_enabled() {
            return;
        }
        let t_start_ns = now_ns();
        loop {
            match quic.open_path(FourTuple::new(remote, Some(from)), PathStatus::Available).await {
                Ok(path) => {
                    *self.0.lock().expect("nothing panics with it") = Some((path, t_start_ns));
                    return;
                }
                Err(PathError::RemoteCidsExhausted) => tokio::time::sleep(NEXT_TRY).await,
                Err(error) => return eprintln!("second path: {error}"),
            }
        }
    }

    /// Print a line for each path of a connection that was begun from `local`; nothing where several were not agreed on.
    pub fn report(&self, quic: &noq::Connection, local: SocketAddr, t_start_ns: u64) {
        if !quic.is_multipath_enabled() {
            return;
        }
        let first = quic.path(PathId::ZERO).map(|path| (path, t_start_ns));
        let second = self.0.lock().expect("nothing panics with it").clone();
        for (path, t_start_ns) in first.into_iter().chain(second) {
            let Ok(remote) = path.remote_address() else { continue };
            let from = path.local_ip().ok().flatten().unwrap_or(local.ip());
            let stats = path.stats();
            emit(&PathLine {
                event: "path",
                connection: local,
                local: SocketAddr::new(from, local.port()),
                remote,
                t_start_ns,
                received_bytes: stats.udp_rx.bytes,
                sent_bytes: stats.udp_tx.bytes,
            });
        }
    }
}
