//! Damaged real traces: decoding always ends, and accounts for what it saw.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use longlook_support::failure::Failure;
use longlook_trace::account::Account;
use longlook_trace::decode::decode_text;
use longlook_trace::event::Vantage;
use longlook_trace::input::Input;

const HEAD_BYTES: u64 = 20_000;

/// xorshift64*: the same damage in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most
    }
}

fn heads() -> Vec<(PathBuf, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut heads = Vec::new();
    for folder in ["qlogs", "netlogs"] {
        for entry in std::fs::read_dir(fixtures.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "gz") {
                let mut head = Vec::new();
                MultiGzDecoder::new(File::open(&path).unwrap()).take(HEAD_BYTES).read_to_end(&mut head).unwrap();
                heads.push((path, head));
            }
        }
    }
    assert!(heads.len() > 15);
    heads.sort();
    heads
}

fn decode(content: &[u8]) -> Result<Account, Failure> {
    let whole = content.to_vec();
    let open = move || Ok(Input::new(Cursor::new(whole.clone())));
    decode_text(&open, Path::new("test"), Path::new("/dev/null"), Vantage::Server)
}

fn check(path: &Path, content: &[u8]) {
    match decode(content) {
        Ok(account) => {
            let reported = account.truncated || !account.warnings.is_empty();
            assert!(account.skipped.is_empty() || reported, "{}: {:?}", path.display(), account.skipped);
        }
        Err(failure) => assert_eq!(failure.exit_code, 2, "{}: {failure}", path.display()),
    }
}

#[test]
fn flipped_bytes() {
    let mut dice = Dice(7);
    for (path, head) in heads() {
        for _ in 0..20 {
            let mut damaged = head.clone();
            for _ in 0..=dice.below(30) {
                let at = dice.below(damaged.len());
                damaged[at] = dice.below(256) as u8;
            }
            check(&path, &damaged);
        }
    }
}

#[test]
fn moved_and_lost_pieces() {
    let mut dice = Dice(8);
    for (path, head) in heads() {
        for _ in 0..20 {
            let mut damaged = head.clone();
            let from = dice.below(damaged.len());
            let piece: Vec<u8> = damaged.drain(from..(from + dice.below(500)).min(head.len())).collect();
            if dice.below(2) == 0 {
                let to = dice.below(damaged.len());
                damaged.splice(to..to, piece);
            }
            check(&path, &damaged);
        }
    }
}

#[test]
fn damaged_files_behind_each_other() {
    let mut dice = Dice(10);
    let heads = heads();
    for pair in heads.windows(2) {
        for _ in 0..10 {
            let mut joined = [&pair[0].1[..], b"\n", &pair[1].1[..]].concat();
            for _ in 0..dice.below(4) {
                let at = dice.below(joined.len());
                joined[at] = dice.below(256) as u8;
            }
            check(&pair[0].0, &joined);
        }
    }
}

#[test]
fn cut_anywhere() {
    let mut dice = Dice(9);
    for (path, head) in heads() {
        for _ in 0..20 {
            let length = dice.below(head.len());
            check(&path, &head[..length]);
            if let Ok(account) = decode(&head[..length]) {
                assert!(account.bytes <= length as u64);
            }
        }
    }
}
