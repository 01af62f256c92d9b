//! `longlook-link`: the router between client and server (crates/link).

use std::process::ExitCode;

fn main() -> ExitCode {
    longlook_link::main()
}
