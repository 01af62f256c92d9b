//! Any bytes at all: decoding ends, in an account that adds up or in a refusal.

#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longlook_fuzz::expect_account_or_refusal;
use longlook_trace::decode::decode_text;
use longlook_trace::event::Vantage;
use longlook_trace::input::Input;

fuzz_target!(|bytes: &[u8]| {
    let whole = bytes.to_vec();
    let open = || Ok(Input::new(Cursor::new(whole.clone())));
    let result = decode_text(&open, Path::new("fuzz"), Path::new("/dev/null"), Vantage::Server);
    expect_account_or_refusal(result, bytes.len());
});
