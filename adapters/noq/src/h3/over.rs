//! noq's connections and streams as h3 wants them: the traits of `h3::quic`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq::{ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};

/// What a connection has under way; it is kept between two polls.
type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send + Sync>>>;
type Opened<T> = Result<T, ConnectionError>;

/// A connection.
pub struct Connection {
    opener: Opener,
    accepting_both: Pending<Opened<(SendStream, RecvStream)>>,
    accepting_one: Pending<Opened<RecvStream>>,
}

impl Connection {
    /// Carry HTTP/3 over a connection.
    pub fn new(quic: noq::Connection) -> Self {
        Self { opener: Opener::new(quic), accepting_both: None, accepting_one: None }
    }
}

/// What opens streams of a connection.
pub struct Opener {
    quic: noq::Connection,
    opening_both: Pending<Opened<(SendStream, RecvStream)>>,
    opening_one: Pending<Opened<SendStream>>,
}

impl Opener {
    fn new(quic: noq::Connection) -> Self {
        Self { quic, opening_both: None, opening_one: None }
    }
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self::new(self.quic.clone())
    }
}

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

/// The direction in which the other end sends. A read that is under way has the stream, and gives it back.
pub struct Receiving {
    id: StreamId,
    stream: Option<RecvStream>,
    reading: Pending<(RecvStream, Result<Option<Bytes>, ReadError>)>,
}

impl<B: Buf> Both<B> {
    fn new((send, receive): (SendStream, RecvStream)) -> Self {
        Self { send: Sending::new(send), receive: Receiving::new(receive) }
    }
}

impl<B: Buf> Sending<B> {
    fn new(stream: SendStream) -> Self {
        Self { stream, waiting: None }
    }
}

impl Receiving {
    fn new(stream: RecvStream) -> Self {
        Self { id: stream_id(stream.id()), stream: Some(stream), reading: None }
    }
}

/// Go on with what is under way, or begin it.
fn poll<T, F>(pending: &mut Pending<T>, cx: &mut Context<'_>, begin: impl FnOnce() -> F) -> Poll<T>
where
    F: Future<Output = T> + Send + Sync + 'static,
{
    let result = ready!(pending.get_or_insert_with(|| Box::pin(begin())).as_mut().poll(cx));
    *pending = None;
    Poll::Ready(result)
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = Receiving;
    type OpenStreams = Opener;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let quic = &self.opener.quic;
        poll(&mut self.accepting_one, cx, || {
            let quic = quic.clone();
            async move { quic.accept_uni().await }
        })
        .map_ok(Receiving::new)
        .map_err(of_connection)
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let quic = &self.opener.quic;
        poll(&mut self.accepting_both, cx, || {
            let quic = quic.clone();
            async move { quic.accept_bi().await }
        })
        .map_ok(Both::new)
        .map_err(of_connection)
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
        let quic = &self.quic;
        poll(&mut self.opening_both, cx, || {
            let quic = quic.clone();
            async move { quic.open_bi().await }
        })
        .map_ok(Both::new)
        .map_err(of_opening)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sending<B>, StreamErrorIncoming>> {
        let quic = &self.quic;
        poll(&mut self.opening_one, cx, || {
            let quic = quic.clone();
            async move { quic.open_uni().await }
        })
        .map_ok(Sending::new)
        .map_err(of_opening)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.quic.close(error_code(code.value()), reason);
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
    /// Hand all that waits to the stream, as it has room.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.has_remaining()) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, waiting.chunk())).map_err(of_writing)?;
            waiting.advance(written);
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
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
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
        let stream = &mut self.stream;
        let (stream, read) = ready!(poll(&mut self.reading, cx, || {
            let mut stream = stream.take().expect("a read gives the stream back before the next begins");
            async move {
                let read = stream.read_chunk(usize::MAX).await;
                (stream, read)
            }
        }));
        self.stream = Some(stream);
        Poll::Ready(read.map_err(of_reading))
    }

    fn stop_sending(&mut self, code: u64) {
        if let Some(stream) = &mut self.stream {
            let _ = stream.stop(error_code(code)); // it fails on a stream that has ended, which is as good
        }
        self.reading = None; // has the stream otherwise, whose end stops it
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

fn stream_id(id: noq::StreamId) -> StreamId {
    u64::from(id).try_into().expect("noq's stream ids are QUIC's")
}

fn error_code(code: u64) -> VarInt {
    VarInt::from_u64(code).expect("h3's codes are QUIC's numbers")
}

fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn of_opening(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: of_connection(error) }
}

fn of_reading(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => of_opening(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn of_writing(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => of_opening(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
