//! `longlook-box`: runs a guest's kernel where it can reach nothing (crates/box).

use std::process::ExitCode;

fn main() -> ExitCode {
    longlook_box::main()
}
