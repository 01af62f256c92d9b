//! The recorder of the kernel's TCP: tracepoints in an instance of tracefs of its own, and the sockets' own state by
//! `sock_diag(7)`. docs/reference/capture.md describes what is recorded and how; `file` is the format of what it leaves.

pub mod cli;
mod diag;
pub mod file;
pub mod format;
mod output;
mod pages;
mod recorder;
mod tracefs;
