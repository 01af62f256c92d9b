//! Drives s2n-quic for Longlook: HTTP/3 by h3 over it, server and client in one program. The contract is
//! adapters/CONTRACT.md.

mod client;
mod over;
mod server;
mod settings;
mod tls;
mod watch;

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use longlook_adapter::failure::Failure;
use longlook_adapter::program;

/// s2n-quic's version: each manifest below versions/ has the one that it builds.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const PROTOCOL: &str = "h3";

/// H3_NO_ERROR
const NO_ERROR: u32 = 0x100;

/// How long a connection may take to send its CONNECTION_CLOSE.
const CLOSE_LIMIT: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    program::main(|options| on_one_thread(server::run(options)), |job| on_one_thread(client::run(job)))
}

fn on_one_thread(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::of("tokio", error))?.block_on(work)
}

/// Return a failure unless a program is asked for HTTP/3.
fn speaks(protocol: &str) -> Result<(), Failure> {
    if protocol == PROTOCOL { Ok(()) } else { Err(Failure::Unsupported(format!("protocol {protocol:?}"))) }
}
