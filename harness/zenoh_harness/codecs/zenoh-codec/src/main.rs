//! zenoh-rust's codec behind the stdio codec protocol: one JSON object a line, and compact batches between them.

mod data;
mod declare;
mod fields;
mod guard;
mod handshake;
mod layers;
mod network;
mod scouting;
mod serve;
mod shared;
mod transport;
mod workers;

#[global_allocator]
static ALLOCATOR: guard::Counting = guard::Counting;

/// What one call may allocate: a message is at most 64 KiB, so this is three orders of magnitude above need.
const CAP: usize = 256 << 20;

fn main() {
    let cap = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => Some(CAP),
        [name, value] if name == "--cap" => value.parse().ok(),
        _ => None,
    };
    let Some(cap) = cap else {
        eprintln!("usage: zenoh-codec-stdio [--cap BYTES]\nrequests are read from standard input");
        std::process::exit(2);
    };
    guard::install(cap, guard::sleep);
    if let Err(e) = serve::serve(cap) {
        eprintln!("zenoh-codec-stdio: {e}");
        std::process::exit(3);
    }
}
