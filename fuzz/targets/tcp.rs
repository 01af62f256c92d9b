//! Any recording of the kernel's TCP: decoding ends, in an account that adds up or in a refusal.

#![no_main]

use std::io::{Cursor, Read};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longlook_fuzz::expect_account_or_refusal;
use longlook_trace::tcp;

fuzz_target!(|bytes: &[u8]| {
    let whole = bytes.to_vec();
    let open = || Ok(Box::new(Cursor::new(whole.clone())) as Box<dyn Read>);
    let result = tcp::decode(&open, Path::new("fuzz"), Path::new("/dev/null"));
    expect_account_or_refusal(result, bytes.len());
});
