//! Any bytes at all: decoding ends, in an account that adds up or in a refusal.

#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longlook_trace::decode::decode_text;
use longlook_trace::event::Vantage;
use longlook_trace::input::Input;

fuzz_target!(|bytes: &[u8]| {
    let whole = bytes.to_vec();
    let open = || Ok(Input::new(Cursor::new(whole.clone())));
    match decode_text(&open, Path::new("fuzz"), Path::new("/dev/null"), Vantage::Server) {
        Ok(account) => {
            assert!(account.bytes <= bytes.len() as u64);
            assert!(account.unordered + account.duplicate_times <= account.read);
            assert!(account.skipped.is_empty() || account.truncated || !account.warnings.is_empty());
            for connection in &account.connections {
                assert_eq!(connection.rows == 0, connection.first_ns.is_none());
                assert!(connection.first_ns <= connection.last_ns);
            }
        }
        Err(failure) => assert_eq!(failure.exit_code, 2, "{failure}"),
    }
});
