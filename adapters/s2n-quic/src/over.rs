//! s2n-quic's connections and streams as h3 wants them: the traits of `h3::quic`.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use s2n_quic::application;
use s2n_quic::connection::{Error as ConnectionError, Handle, StreamAcceptor};
use s2n_quic::stream::{BidirectionalStream, Error as StreamError, ReceiveStream, SendStream};

/// A connection.
pub struct Connection {
    opener: Opener,
    incoming: StreamAcceptor,
}

impl Connection {
    /// Carry HTTP/3 over an open connection.
    pub fn new(connection: s2n_quic::Connection) -> Self {
        let (handle, incoming) = connection.split();
        Self { opener: Opener(handle), incoming }
    }
}

/// What opens streams of a connection.
#[derive(Clone)]
pub struct Opener(Handle);

/// A stream of both directions.
pub struct Both<B: Buf> {
    send: Sending<B>,
    receive: Receiving,
}

/// The direction in which we send.
pub struct Sending<B: Buf> {
    stream: SendStream,
    waiting: Option<WriteBuf<B>>,
}

/// The direction in which the other end sends.
pub struct Receiving(ReceiveStream);

impl<B: Buf> Both<B> {
    fn new(stream: BidirectionalStream) -> Self {
        let (receive, send) = stream.split();
        Self { send: Sending::new(send), receive: Receiving(receive) }
    }
}

impl<B: Buf> Sending<B> {
    fn new(stream: SendStream) -> Self {
        Self { stream, waiting: None }
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = Receiving;
    type OpenStreams = Opener;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let accepted = ready!(self.incoming.poll_accept_receive_stream(cx)).map_err(of_connection)?;
        Poll::Ready(accepted.map(Receiving).ok_or_else(closed))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let accepted = ready!(self.incoming.poll_accept_bidirectional_stream(cx)).map_err(of_connection)?;
        Poll::Ready(accepted.map(Both::new).ok_or_else(closed))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = Both<B>;
    type SendStream = Sending<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Both<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sending<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

impl<B: Buf> quic::OpenStreams<B> for Opener {
    type BidiStream = Both<B>;
    type SendStream = Sending<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Both<B>, StreamErrorIncoming>> {
        let opened = ready!(self.0.poll_open_bidirectional_stream(cx));
        Poll::Ready(opened.map(Both::new).map_err(of_opening))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sending<B>, StreamErrorIncoming>> {
        let opened = ready!(self.0.poll_open_send_stream(cx));
        Poll::Ready(opened.map(Sending::new).map_err(of_opening))
    }

    /// s2n-quic's CONNECTION_CLOSE has no reason in words.
    fn close(&mut self, code: Code, _reason: &[u8]) {
        self.0.close(error_code(code.value()));
    }
}

impl<B: Buf> quic::BidiStream<B> for Both<B> {
    type SendStream = Sending<B>;
    type RecvStream = Receiving;

    fn split(self) -> (Sending<B>, Receiving) {
        (self.send, self.receive)
    }
}

impl<B: Buf> quic::SendStream<B> for Both<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::RecvStream for Both<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

impl<B: Buf> quic::SendStream<B> for Sending<B> {
    /// Hand all that waits to the stream, which takes a chunk whole as soon as there is room in its buffer.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.has_remaining()) {
            ready!(self.stream.poll_send_ready(cx)).map_err(of_stream)?;
            let length = waiting.chunk().len();
            self.stream.send_data(waiting.copy_to_bytes(length)).map_err(of_stream)?;
        }
        self.waiting = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.waiting.is_some() {
            let connection_error = ConnectionErrorIncoming::InternalError("data before the stream was ready".into());
            return Err(StreamErrorIncoming::ConnectionErrorIncoming { connection_error });
        }
        self.waiting = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        Poll::Ready(self.stream.finish().map_err(of_stream))
    }

    fn reset(&mut self, reset_code: u64) {
        let _ = self.stream.reset(error_code(reset_code)); // it fails on a stream that has ended, which is as good
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.0.poll_receive(cx).map_err(of_stream)
    }

    fn stop_sending(&mut self, code: u64) {
        let _ = self.0.stop_sending(error_code(code)); // it fails on a stream that has ended, which is as good
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.0.id())
    }
}

fn stream_id(id: u64) -> StreamId {
    id.try_into().expect("s2n-quic's stream ids are QUIC's")
}

fn error_code(code: u64) -> application::Error {
    application::Error::new(code).expect("h3's codes are QUIC's numbers")
}

fn closed() -> ConnectionErrorIncoming {
    ConnectionErrorIncoming::ApplicationClose { error_code: u64::from(crate::NO_ERROR) }
}

fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::Closed { .. } => closed(),
        ConnectionError::Application { error, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: error.into() }
        }
        ConnectionError::IdleTimerExpired { .. } => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn of_opening(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: of_connection(error) }
}

fn of_stream(error: StreamError) -> StreamErrorIncoming {
    match error {
        StreamError::ConnectionError { error, .. } => of_opening(error),
        StreamError::StreamReset { error, .. } => StreamErrorIncoming::StreamTerminated { error_code: error.into() },
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
