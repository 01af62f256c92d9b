//! Moves a client's connection to its second address: quinn sends from there at once, and the server validates the path.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use longlook_adapter::clock::now_ns;
use longlook_adapter::lines::emit;
use longlook_adapter::moving::{MoveLine, Moves};
use quinn::Endpoint;

/// When something of an answer last came, and how many answers are awaited.
#[derive(Default)]
pub struct Arrivals {
    last_ns: AtomicU64,
    awaited: AtomicUsize,
}

/// An answer that is awaited as long as this lives.
pub struct Awaited(Arc<Arrivals>);

impl Arrivals {
    /// Note that an answer is awaited from now on.
    pub fn awaited(self: &Arc<Self>) -> Awaited {
        self.came();
        self.awaited.fetch_add(1, Ordering::Relaxed);
        Awaited(self.clone())
    }

    /// Note that something came.
    pub fn came(&self) {
        self.last_ns.store(now_ns(), Ordering::Relaxed);
    }

    /// Return how long nothing has come of what is awaited.
    fn silence(&self) -> Duration {
        if self.awaited.load(Ordering::Relaxed) == 0 {
            return Duration::ZERO;
        }
        Duration::from_nanos(now_ns().saturating_sub(self.last_ns.load(Ordering::Relaxed)))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.awaited.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Move once, at the time of the load that began at `t_start_ns` or after silence, whichever comes first.
pub async fn run(moves: Moves, endpoint: Endpoint, from: SocketAddr, to: IpAddr, t_start_ns: u64, seen: Arc<Arrivals>) {
    tokio::select! {
        () = until(moves.at, t_start_ns) => {}
        () = silent(moves.after_silence, &seen) => {}
    }
    let began_ns = now_ns();
    let moved = UdpSocket::bind((to, 0)).and_then(|socket| {
        let local = socket.local_addr()?;
        endpoint.rebind(socket)?;
        Ok(local)
    });
    match moved {
        Ok(local) => emit(&MoveLine::new(from, local, began_ns, None)),
        Err(error) => eprintln!("moving: {error}"),
    }
}

async fn until(at: Option<Duration>, t_start_ns: u64) {
    let Some(at) = at else { return std::future::pending().await };
    let gone = Duration::from_nanos(now_ns().saturating_sub(t_start_ns));
    tokio::time::sleep(at.saturating_sub(gone)).await;
}

async fn silent(limit: Option<Duration>, seen: &Arrivals) {
    let Some(limit) = limit else { return std::future::pending().await };
    loop {
        let left = limit.saturating_sub(seen.silence());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}
