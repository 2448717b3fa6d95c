//! Bytes, read as a transport message; what was read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zenoh_buffers::{
    reader::{DidntRead, HasReader},
    writer::{DidntWrite, HasWriter},
};
use zenoh_codec::{RCodec, WCodec, Zenoh080};
use zenoh_protocol::transport::TransportMessage;

fuzz_target!(|data: &[u8]| {
    let codec = Zenoh080::new();
    let read: Result<TransportMessage, DidntRead> = codec.read(&mut data.reader());
    let Ok(message) = read else { return };
    let mut bytes = Vec::new();
    let written: Result<(), DidntWrite> = codec.write(&mut bytes.writer(), &message);
    written.expect("what was read is written");
    let again: Result<TransportMessage, DidntRead> = codec.read(&mut bytes.reader());
    assert_eq!(again.expect("what was written is read"), message);
});
