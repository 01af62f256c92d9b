//! `longlook-box`: runs a guest's kernel in a box, so that whoever leaves the guest is nobody in an empty place.
//!
//! Three processes: the *launcher*, which was started, stays outside of the box and watches; the *keeper* is process 1 of
//! the box; the *kernel* is the keeper's child, since Linux spares process 1 the signals by which the kernel ends itself.
//! When the keeper ends, for whatever reason, Linux ends everything in the box. `launch` has the launcher's part,
//! `keep` the keeper's, and each layer of the box a module of its own.

mod fence;
mod filter;
mod keep;
mod launch;
mod layers;
mod options;
mod privileges;
mod resources;
mod sys;
mod view;

use std::process::ExitCode;

use clap::Parser;

/// The program: reads its arguments, runs the kernel in a box, and ends as the kernel did.
#[must_use]
pub fn main() -> ExitCode {
    launch::run(&options::Options::parse())
}
