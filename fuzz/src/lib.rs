//! What holds of every decoding, whatever was decoded.

use longlook_support::failure::Failure;
use longlook_trace::account::Account;

/// Panics unless a decoding of so many bytes ended in an account that adds up, or in a refusal.
pub fn expect_account_or_refusal(result: Result<Account, Failure>, given_bytes: usize) {
    match result {
        Ok(account) => {
            assert!(account.bytes <= given_bytes as u64);
            assert!(account.unordered + account.duplicate_times <= account.read);
            assert!(account.skipped.is_empty() || account.truncated || !account.warnings.is_empty());
            for connection in &account.connections {
                assert_eq!(connection.rows == 0, connection.first_ns.is_none());
                assert!(connection.first_ns <= connection.last_ns);
            }
        }
        Err(failure) => assert_eq!(failure.exit_code, 2, "{failure}"),
    }
}
