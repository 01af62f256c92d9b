//! Drives noq for Longlook: HTTP/3 by h3 over it, and HTTP/2 by hyper over rustls and TCP, server and client in one
//! program. The contract is adapters/CONTRACT.md.
//!
//! noq began as a fork of quinn, and what names neither is one file for both: those of quinn's adapter are linked here.

extern crate noq as quinn; // in a file of quinn's adapter

mod body;
mod bounded;
mod client;
mod h2;
mod h3;
mod server;
mod session;
mod settings;
mod state;
mod tls;

use std::future::Future;
use std::process::ExitCode;

use longlook_adapter::failure::Failure;
use longlook_adapter::program;

/// noq's version: each manifest below versions/ has the one that it builds.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    program::main(|options| on_one_thread(server::run(options)), |job| on_one_thread(client::run(job)))
}

fn on_one_thread(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::of("tokio", error))?.block_on(work) // its end drops connections: traces get whole
}
