//! The recorder of the kernel's TCP.

pub mod cli;
