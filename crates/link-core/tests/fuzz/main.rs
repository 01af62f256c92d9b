//! Whatever a configuration holds, it is read or refused with a reason; whatever a link is made of, no packet gets lost
//! without a fate. `PROPTEST_CASES=100000 cargo test --release --test fuzz` looks longer.

#[path = "../common/mod.rs"]
mod common;

mod generate;
mod links;
mod mutate;
mod texts;
