//! Each impairment against its law: exactly where it is exact, by goodness of fit with fixed seeds where it is chance.

#[path = "../common/mod.rs"]
mod common;

mod chance;
mod copies;
mod ecn;
mod independence;
mod lists;
mod middleboxes;
mod police;
mod refused;
mod statistics;
