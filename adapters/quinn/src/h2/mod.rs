//! HTTP/2 over TLS 1.3 and TCP.

pub mod client;
pub mod server;
