//! A server's TLS stream over TCP that takes early data, and answers it before the handshake is complete.
//!
//! tokio-rustls completes a handshake first and has no way to early data; rustls itself does both.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use longlook_adapter::clock::now_ns;
use longlook_adapter::lines::{ConnectionLine, emit};
use rustls::{HandshakeKind, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The stream. Where the client sends early data it can be used from the hello on, else when the handshake is complete.
pub struct Accepting {
    socket: TcpStream,
    session: ServerConnection,
    ended: bool,
    line: Option<ConnectionLine>,
}

impl Accepting {
    /// Read the client's hello and answer it; without early data, complete the handshake. `line` is printed then.
    pub async fn new(socket: TcpStream, session: ServerConnection, line: ConnectionLine) -> io::Result<Self> {
        let mut accepting = Self { socket, session, ended: false, line: Some(line) };
        std::future::poll_fn(|context| accepting.poll_opened(context)).await?;
        Ok(accepting)
    }

    /// Return the protocol that was negotiated.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    fn poll_opened(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.is_handshaking() && self.session.early_data().is_none() {
            if self.ended {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            ready!(self.poll_send(context))?;
            ready!(self.poll_receive(context))?;
        }
        self.poll_send(context)
    }

    fn tell(&mut self) {
        if self.session.is_handshaking() {
            return;
        }
        if let Some(mut line) = self.line.take() {
            line.t_handshake_ns = now_ns();
            line.resumed = self.session.handshake_kind() == Some(HandshakeKind::Resumed);
            line.used_0rtt = self.session.early_data().is_some();
            emit(&line);
        }
    }

    /// Take from the socket what there is, at least once.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_read_ready(context))?;
            let mut reader = SocketReader(&self.socket);
            match self.session.read_tls(&mut reader) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Poll::Ready(Err(error)),
            }
            let processed = self.session.process_new_packets();
            if let Err(error) = processed {
                let _ = self.poll_send(context); // the alert, if it can be sent at once
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
            self.tell();
            return Poll::Ready(Ok(()));
        }
    }

    /// Send all that waits in the session.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.wants_write() {
            ready!(self.socket.poll_write_ready(context))?;
            let mut writer = SocketWriter(&self.socket);
            match self.session.write_tls(&mut writer) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

struct SocketReader<'a>(&'a TcpStream);

impl Read for SocketReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

struct SocketWriter<'a>(&'a TcpStream);

impl Write for SocketWriter<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.try_write(data)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Accepting {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let space = buffer.initialize_unfilled();
            if let Some(mut early) = self.session.early_data() {
                let read = early.read(space)?;
                if read > 0 {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
            }
            let space = buffer.initialize_unfilled();
            match self.session.reader().read(space) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            if self.ended {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_receive(context))?;
            let _ = self.poll_send(context)?; // tickets, or nothing; what is left goes with the next write
        }
    }
}

impl AsyncWrite for Accepting {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let written = self.session.writer().write(data)?;
            let sent = self.poll_send(context)?;
            if written > 0 || data.is_empty() {
                return Poll::Ready(Ok(written));
            }
            ready!(sent); // its buffer was full, and has room now
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_send(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ended {
            self.session.send_close_notify();
        }
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
