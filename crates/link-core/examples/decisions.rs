//! How many fates one thread decides in a second, as one JSON line: `cargo run --release --example decisions`.

use std::hint::black_box;
use std::time::Instant;

use longlook_link_core::{Config, DirectionName, PacketInfo};

const PACKETS: u32 = 5_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = r#"{"version": 2, "seed": 1, "linger_ns": 0, "down": [], "up": [
        {"kind": "loss", "parameters": {"probability": 0.01}},
        {"kind": "rate", "parameters": {"rate_bps": 100000000, "queue_bytes": 450000}},
        {"kind": "delay", "parameters": {"delay_ns": 18000000}},
        {"kind": "jitter", "parameters": {"jitter_ns": 1000000, "reorder": false}}]}"#;
    let mut direction = Config::from_json(config)?.direction(DirectionName::Up);
    let packet = PacketInfo::of_size(1_500);
    let mut events = Vec::new();
    let started = Instant::now();
    for number in 0..PACKETS {
        // A little faster than the rate, so that the queue stays full.
        direction.arrive(u64::from(number) * 110_000, &packet, &mut events);
        black_box(&events);
        events.clear();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "stages": "loss, rate, delay, jitter",
            "packets": PACKETS,
            "decisions_per_s": (f64::from(PACKETS) / seconds).round(),
            "ns_per_decision": (seconds * 1e9 / f64::from(PACKETS) * 10.0).round() / 10.0,
        })
    );
    Ok(())
}
