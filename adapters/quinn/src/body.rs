//! Answers as the HTTP types of both protocols.

use std::fs::File;

use bytes::Bytes;
use longlook_adapter::files::{Answer, read_part};

/// Return the head of an answer.
pub fn head(answer: &Answer) -> http::response::Builder {
    let builder = http::Response::builder().status(answer.status);
    answer.headers().into_iter().fold(builder, |builder, (name, value)| builder.header(name, value))
}

/// Read the next part of a file of which `left` bytes remain.
pub fn next_part(file: &mut File, left: &mut u64) -> std::io::Result<Bytes> {
    read_part(file, left).map(Bytes::from)
}
