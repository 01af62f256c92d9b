//! Texts that are no configuration.

use longlook_link_core::Config;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::common::{configuration, kinds};

proptest! {
    #[test]
    fn any_text_is_refused(text in ".{0,200}") {
        prop_assert!(Config::from_json(&text).is_err());
    }

    #[test]
    fn a_text_with_a_hole_or_a_patch_is_read_or_refused(from: Index, length in 0..20_usize, patch in "[\\[\\]{}\",:0-9eE.+-]{0,6}") {
        let stages: Vec<_> = kinds::all().map(kinds::active).collect();
        let mut text: Vec<char> = configuration(1, &stages, &[]).chars().collect();
        let from = from.index(text.len());
        let until = (from + length).min(text.len());
        text.splice(from..until, patch.chars());
        if let Err(error) = Config::from_json(&text.into_iter().collect::<String>()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn depth_and_size_of_numbers_are_no_trouble() {
    for opening in ["[", "{\"up\":", "[{\"kind\":"] {
        let deep = opening.repeat(100_000);
        assert!(Config::from_json(&deep).is_err_and(|error| error.to_string().starts_with("not JSON")));
    }
    for number in ["1e999", "-1e999", &"9".repeat(400), "1e-999", "0x10", "NaN", "-0", "00", "1_000"] {
        for key in ["seed", "linger_ns", "version"] {
            let text =
                configuration(1, &[], &[]).replace(&format!("\"{key}\":"), &format!("\"{key}\": {number}, \"x\":"));
            assert!(Config::from_json(&text).is_err(), "{text}");
        }
        let text = configuration(1, &[kinds::active("loss")], &[]).replace("0.3", number);
        if let Err(error) = Config::from_json(&text) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn no_more_stages_than_a_log_can_name() {
    let many = vec![kinds::idle("delay"); 65];
    let error = Config::from_json(&configuration(1, &many, &[])).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("up: 65 stages are more than 64"));
    assert!(Config::from_json(&configuration(1, &many[..64], &many[..64])).is_ok());
    let whole = json!({"version": 2, "seed": 1, "linger_ns": 0, "up": [], "down": []}).to_string();
    assert!(Config::from_json(&whole).is_ok());
}
