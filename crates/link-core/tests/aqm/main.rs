//! Bottlenecks with active queue management, and reordering: what must hold for any traffic, what theory and published
//! implementations give for some, all in virtual time.

mod codel;
mod common;
mod dualpi2;
mod fq_codel;
mod properties;
mod red;
mod reference;
mod reorder;
mod step;
