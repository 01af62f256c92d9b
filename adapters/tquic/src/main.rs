//! Drives tquic for Longlook: HTTP/3 over an event loop of our own. The contract is adapters/CONTRACT.md.

mod client;
mod fetching;
mod paths;
mod server;
mod serving;
mod settings;
mod socket;

use std::process::ExitCode;

/// tquic's version: each manifest below versions/ has the one that it builds.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// H3_NO_ERROR
const NO_ERROR: u64 = 0x100;

fn main() -> ExitCode {
    longlook_adapter::program::main(server::run, client::run)
}
