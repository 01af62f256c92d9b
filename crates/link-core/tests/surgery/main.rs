//! Operations on single packets: what they do to these, and that they do nothing to others until their consequences.

#[path = "../common/mod.rs"]
mod common;

mod consequences;
mod operations;
mod traffic;
