//! zenoh-rust's codec as a shared library behind the C interface of `zcodec.h`.

// The program of `main.rs` is made of the same modules, and uses what is not used here.
#![allow(dead_code)]

mod data;
mod declare;
mod fields;
mod guard;
mod handshake;
mod interface;
mod layers;
mod network;
mod scouting;
mod shared;
mod stack;
mod transport;

#[global_allocator]
static ALLOCATOR: guard::Counting = guard::Counting;
