//! A client's TLS stream while it opens: early data leaves together, and the line waits for the handshake's end.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use longlook_adapter::clock::now_ns;
use longlook_adapter::lines::{ConnectionLine, emit};
use rustls::{ClientConnection, HandshakeKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Lets what is held go; shared by a connection and its stream.
#[derive(Default)]
pub struct Gate {
    open: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Gate {
    /// Let everything go from now on.
    pub fn open(&self) {
        self.open.store(true, Ordering::Relaxed);
        if let Some(waiting) = self.waiting.lock().expect("nobody panics with it").take() {
            waiting.wake();
        }
    }

    fn is_open(&self, context: &Context<'_>) -> bool {
        let open = self.open.load(Ordering::Relaxed);
        if !open {
            *self.waiting.lock().expect("nobody panics with it") = Some(context.waker().clone());
        }
        open
    }
}

/// The stream. What is written before its gate opens leaves in one piece: HTTP/2 writes its preface, its settings and
/// its first requests one after another, and only what is in the first piece can be in a SYN.
pub struct Opening {
    stream: TlsStream<TcpStream>,
    gate: Arc<Gate>,
    held: Vec<u8>,
    line: Option<ConnectionLine>,
}

impl Opening {
    /// `line` is printed when the handshake is complete.
    pub fn new(stream: TlsStream<TcpStream>, gate: Arc<Gate>, line: ConnectionLine) -> Self {
        let mut opening = Self { stream, gate, held: Vec::new(), line: Some(line) };
        opening.tell();
        opening
    }

    fn tell(&mut self) {
        let session = self.stream.get_ref().1;
        if session.is_handshaking() {
            return;
        }
        if let Some(mut line) = self.line.take() {
            line.t_handshake_ns = now_ns();
            line.resumed = resumed(session);
            line.used_0rtt = session.is_early_data_accepted();
            emit(&line);
        }
    }

    /// Write what was held; nothing stays if this is ready.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            match Pin::new(&mut self.stream).poll_write(context, &self.held) {
                Poll::Ready(Ok(written)) => drop(self.held.drain(..written)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn resumed(session: &ClientConnection) -> bool {
    session.handshake_kind() == Some(HandshakeKind::Resumed)
}

impl AsyncRead for Opening {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.tell();
        read
    }
}

impl AsyncWrite for Opening {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if !self.gate.is_open(context) {
            self.held.extend_from_slice(data);
            return Poll::Ready(Ok(data.len()));
        }
        if self.poll_held(context)?.is_pending() {
            return Poll::Pending;
        }
        let written = Pin::new(&mut self.stream).poll_write(context, data);
        self.tell();
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.gate.is_open(context) {
            return Poll::Ready(Ok(()));
        }
        if self.poll_held(context)?.is_pending() {
            return Poll::Pending;
        }
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.tell();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.gate.open();
        if self.poll_held(context)?.is_pending() {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
