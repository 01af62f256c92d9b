//! Drives quinn for Longlook: HTTP/3 (h3 over quinn) and HTTP/2 (hyper over rustls and TCP) from one program, so that
//! both sides of a comparison share files, HTTP types and TLS library. The contract is adapters/CONTRACT.md.

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

/// quinn's version: each manifest below versions/ has the one that it builds.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    program::main(|options| on_one_thread(server::run(options)), |job| on_one_thread(client::run(job)))
}

fn on_one_thread(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::of("tokio", error))?.block_on(work) // its end drops connections: traces get whole
}
