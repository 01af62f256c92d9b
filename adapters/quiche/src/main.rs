//! Drives quiche for Longlook: HTTP/3 over an event loop of our own that keeps to the times quiche gives its packets.
//! The contract is adapters/CONTRACT.md.

mod client;
mod connection;
mod server;
mod serving;
mod settings;

use std::process::ExitCode;

/// quiche's version: each manifest below versions/ has the one that it builds.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    longlook_adapter::program::main(server::run, client::run)
}
