//! Whole transfers over a grid of links in virtual time: one line each, compared with `tests/transfers.txt`.
//!
//! A line that changes shows that links behave in another way than in the last release: look at each, then write the
//! file anew with `UPDATE_SNAPSHOT=1 cargo test -p longlook-link-core --test transfers`. Nothing here depends on the
//! machine: times are whole nanoseconds and chance comes from the seed.

mod link;
mod settings;
mod transfer;

use std::fmt::Write as _;
use std::path::Path;

use link::Counts;
use settings::Setting;
use transfer::{Ended, run};

const FILE: &str = "tests/transfers.txt";

fn reasons(counts: &Counts) -> String {
    let all: Vec<String> = counts.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

fn remarks(ended: &Ended) -> String {
    let of = |name: &str, count: u64| (count > 0).then(|| format!("{name} {count}"));
    let (data, acks) = (&ended.data, &ended.acks);
    let all = [
        of("copied", data.copied + acks.copied),
        of("corrupted", data.corrupted + acks.corrupted),
        of("marked", data.marked + acks.marked),
        of("out of order", ended.out_of_order),
        of("ports", u64::from(data.last_epoch)),
        of("reported mtu", data.reported_mtu),
        of("timeouts", ended.timeouts),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

fn line(setting: &Setting) -> String {
    let ended = run(setting);
    let finish =
        ended.finish_ns.map_or("never".to_owned(), |ns| format!("{}.{:06} ms", ns / 1_000_000, ns % 1_000_000));
    let (sent, queue) = (ended.data.arrived, ended.data.max_queue_bytes);
    let (lost, acks, remarks) = (reasons(&ended.data), reasons(&ended.acks), remarks(&ended));
    format!("{:<28} {finish:>16} {sent:>5} {queue:>7}  {lost:<30} {acks:<10} {remarks}", setting.name)
}

fn table() -> String {
    let mut text = format!(
        "{:<28} {:>16} {:>5} {:>7}  {:<30} {:<10} {}\n",
        "setting", "finished", "sent", "queue B", "data lost", "acks lost", "remarks"
    );
    for setting in settings::all() {
        writeln!(text, "{}", line(&setting).trim_end()).expect("a text takes all");
    }
    text
}

#[test]
fn transfers_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let found = table();
    if std::env::var_os("UPDATE_SNAPSHOT").is_some() {
        std::fs::write(&path, &found).expect("the folder of the tests can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default().replace('\r', "");
    let mut changes = String::new();
    for line in kept.lines().filter(|line| !found.lines().any(|other| other == *line)) {
        writeln!(changes, "- {line}").expect("a text takes all");
    }
    for line in found.lines().filter(|line| !kept.lines().any(|other| other == *line)) {
        writeln!(changes, "+ {line}").expect("a text takes all");
    }
    assert!(
        kept == found,
        "transfers are not as in {FILE}; if that is meant, write it anew with UPDATE_SNAPSHOT=1:\n{changes}"
    );
}

#[test]
fn a_transfer_is_the_same_each_time() {
    for setting in settings::all() {
        assert_eq!(line(&setting), line(&setting));
    }
}
