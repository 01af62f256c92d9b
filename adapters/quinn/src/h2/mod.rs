//! HTTP/2 over TLS 1.3 and TCP.

mod accepting;
pub mod client;
mod fast_open;
mod opening;
pub mod server;
