//! The sockets of a server with a preferred address (RFC 9000, 9.6), as one.
//!
//! quinn remembers the address at which a connection began, and answers from there for good. A client that has moved to
//! the preferred address would take nothing from another. So each address has a socket here, and a client gets answers
//! from the one to which its last packet came; what leaves quinn for the first address loses that mark.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};

/// Both sockets, and which of them each client used last.
pub struct TwoAddresses {
    first: Arc<dyn AsyncUdpSocket>,
    preferred: Arc<dyn AsyncUdpSocket>,
    /// Clients whose last packet came to the preferred address. It never shrinks: a server lives as long as a trial.
    moved: Mutex<HashMap<SocketAddr, bool>>,
}

impl TwoAddresses {
    /// Wrap the socket of each address.
    pub fn new(first: UdpSocket, preferred: UdpSocket) -> io::Result<Self> {
        let wrap = |socket| TokioRuntime.wrap_udp_socket(socket);
        Ok(Self { first: wrap(first)?, preferred: wrap(preferred)?, moved: Mutex::default() })
    }

    fn socket_for(&self, client: SocketAddr) -> &Arc<dyn AsyncUdpSocket> {
        let moved = self.moved.lock().expect("nothing panics with it").get(&client).copied().unwrap_or(false);
        if moved { &self.preferred } else { &self.first }
    }
}

impl fmt::Debug for TwoAddresses {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("TwoAddresses").field("first", &self.first).field("preferred", &self.preferred).finish()
    }
}

impl AsyncUdpSocket for TwoAddresses {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let each = [self.first.clone().create_io_poller(), self.preferred.clone().create_io_poller()];
        Box::pin(BothWritable(each))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // Each socket is bound to its address, which a source address of the packet's own would override.
        let Transmit { destination, ecn, contents, segment_size, .. } = *transmit;
        let bare = Transmit { destination, ecn, contents, segment_size, src_ip: None };
        self.socket_for(destination).try_send(&bare)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for (socket, preferred) in [(&self.preferred, true), (&self.first, false)] {
            if let Poll::Ready(received) = socket.poll_recv(context, buffers, metas) {
                if let Ok(count) = received {
                    let mut moved = self.moved.lock().expect("nothing panics with it");
                    moved.extend(metas[..count].iter().map(|meta| (meta.addr, preferred)));
                }
                return Poll::Ready(received);
            }
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.first.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.first.max_transmit_segments().min(self.preferred.max_transmit_segments())
    }

    fn max_receive_segments(&self) -> usize {
        self.first.max_receive_segments().max(self.preferred.max_receive_segments())
    }

    fn may_fragment(&self) -> bool {
        self.first.may_fragment() || self.preferred.may_fragment()
    }
}

/// Ready when both sockets are: the one that was full is among them.
#[derive(Debug)]
struct BothWritable([Pin<Box<dyn UdpPoller>>; 2]);

impl UdpPoller for BothWritable {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        for poller in &mut self.0 {
            match poller.as_mut().poll_writable(context) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
        }
        Poll::Ready(Ok(()))
    }
}
