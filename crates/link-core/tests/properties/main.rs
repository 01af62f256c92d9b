//! Properties of every link under every traffic, checked in virtual time.

mod bottleneck;
mod conservation;
mod distributions;
mod draws;
mod links;
mod order;
