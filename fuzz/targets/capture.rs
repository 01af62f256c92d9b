//! Any capture of packets: decoding ends, in an account that adds up or in a refusal.

#![no_main]

use std::io::{Cursor, Read};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longlook_fuzz::expect_account_or_refusal;
use longlook_trace::capture::{self, Task};
use longlook_trace::event::Vantage;

fuzz_target!(|bytes: &[u8]| {
    if !capture::is_capture(bytes) {
        return;
    }
    let whole = bytes.to_vec();
    let open = || Ok(Box::new(Cursor::new(whole.clone())) as Box<dyn Read>);
    let (name, output) = (Path::new("fuzz"), Path::new("/dev/null"));
    let task = Task { open: &open, name, output, vantage: Vantage::Unknown, keys: &[] };
    expect_account_or_refusal(capture::decode(&task), bytes.len());
});
