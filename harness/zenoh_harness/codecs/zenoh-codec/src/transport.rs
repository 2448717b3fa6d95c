//! Transport messages but for the handshake: the structs of zenoh-protocol to meanings, and back.

use crate::{
    fields::{hex, Fields, Refused},
    handshake, network,
    shared::{body, read_body, read_z64, transport_qos, List, Object},
};
use serde_json::Value;
use zenoh_buffers::ZSlice;
#[cfg(has_patch)]
use zenoh_protocol::common::ZExtUnit;
use zenoh_protocol::{
    core::Reliability,
    transport::{Close, Fragment, Frame, KeepAlive, Oam, TransportBody, TransportMessage},
};

pub fn means(message: &TransportMessage) -> Value {
    match &message.body {
        TransportBody::InitSyn(m) => handshake::init(m),
        TransportBody::InitAck(m) => handshake::init_ack(m),
        TransportBody::OpenSyn(m) => handshake::open_syn(m),
        TransportBody::OpenAck(m) => handshake::open_ack(m),
        TransportBody::Close(m) => close(m),
        TransportBody::KeepAlive(_) => Object::default().kind("KeepAlive"),
        TransportBody::Frame(m) => frame(m),
        TransportBody::Fragment(m) => fragment(m),
        TransportBody::OAM(m) => oam(m),
        TransportBody::Join(m) => handshake::join(m),
    }
}

pub fn build(kind: &str, f: &Fields) -> Result<TransportMessage, Refused> {
    Ok(match kind {
        "Init" if f.flag("ack")? => handshake::read_init_ack(f)?.into(),
        "Init" => handshake::read_init(f)?.into(),
        "Open" if f.flag("ack")? => handshake::read_open_ack(f)?.into(),
        "Open" => handshake::read_open_syn(f)?.into(),
        "Close" => read_close(f)?.into(),
        "KeepAlive" => {
            f.exts()?.done()?;
            KeepAlive.into()
        }
        "Frame" => read_frame(f)?.into(),
        "Fragment" => read_fragment(f)?.into(),
        "Oam" => TransportBody::OAM(read_oam(f)?).into(),
        "Join" => handshake::read_join(f)?.into(),
        other => return Err(format!("no transport message is called {other}")),
    })
}

pub fn close(m: &Close) -> Value {
    Object::default().set("session", m.session).set("reason", m.reason).kind("Close")
}

pub fn read_close(f: &Fields) -> Result<Close, Refused> {
    f.exts()?.done()?;
    Ok(Close { reason: f.int("reason")?, session: f.flag("session")? })
}

fn reliability(f: &Fields) -> Result<Reliability, Refused> {
    Ok(if f.flag("reliable")? { Reliability::Reliable } else { Reliability::BestEffort })
}

fn frame(m: &Frame) -> Value {
    Object::default()
        .set("reliable", m.reliability == Reliability::Reliable)
        .set("sn", m.sn)
        .exts(List::default().z64("QoS", transport_qos(m.ext_qos)))
        .set("messages", payload(m))
        .kind("Frame")
}

#[cfg(not(frame_is_slice))]
fn payload(m: &Frame) -> Vec<Value> {
    m.payload.iter().map(network::means).collect()
}

#[cfg(frame_is_slice)]
fn payload(m: &Frame) -> Vec<Value> {
    slices::messages(&mut m.payload.clone()).iter().map(network::means).collect()
}

/// Some releases give a FRAME the rest of the batch unread: as their router does, its messages are read up to the
/// first that cannot be, and what follows is given back.  Tells how many bytes that is.
pub fn give_back(_message: &mut TransportMessage) -> usize {
    #[cfg(frame_is_slice)]
    if let TransportBody::Frame(m) = &mut _message.body {
        return slices::trim(&mut m.payload);
    }
    0
}

#[cfg(frame_is_slice)]
mod slices {
    use zenoh_buffers::{
        buffer::Buffer,
        reader::{BacktrackableReader, HasReader},
        writer::HasWriter,
        ZSlice,
    };
    use zenoh_codec::{RCodec, WCodec, Zenoh080};
    use zenoh_protocol::network::NetworkMessage;

    /// Reads messages off the front; what cannot be read stays in the slice.
    pub fn messages(slice: &mut ZSlice) -> Vec<NetworkMessage> {
        let mut reader = slice.reader();
        let mut found = Vec::new();
        loop {
            let mark = reader.mark();
            match Zenoh080::new().read(&mut reader) {
                Ok(message) => found.push(message),
                Err(_) => {
                    reader.rewind(mark);
                    return found;
                }
            }
        }
    }

    pub fn trim(payload: &mut ZSlice) -> usize {
        let whole = payload.as_slice().to_vec();
        messages(payload);
        let rest = payload.len();
        *payload = whole[..whole.len() - rest].to_vec().into();
        rest
    }

    pub fn written(messages: &[NetworkMessage]) -> Result<ZSlice, String> {
        let mut out = Vec::new();
        let mut writer = out.writer();
        for message in messages {
            Zenoh080::new().write(&mut writer, message).map_err(|_| "zenoh-codec did not write it".to_owned())?;
        }
        Ok(out.into())
    }
}

fn read_frame(f: &Fields) -> Result<Frame, Refused> {
    let mut exts = f.exts()?;
    let ext_qos = read_z64(exts.value("QoS")?).unwrap_or_default();
    exts.done()?;
    let mut payload = Vec::new();
    for (i, value) in f.list("messages")?.iter().enumerate() {
        let (kind, fields) = Fields::variant(&format!("Frame.messages[{i}]"), value)?;
        payload.push(network::build(kind, &fields)?);
    }
    #[cfg(frame_is_slice)]
    let payload = slices::written(&payload)?;
    Ok(Frame { reliability: reliability(f)?, sn: f.int("sn")?, ext_qos, payload })
}

fn fragment(m: &Fragment) -> Value {
    let exts = List::default().z64("QoS", transport_qos(m.ext_qos));
    #[cfg(has_patch)]
    let exts = exts.unit("First", &m.ext_first).unit("Drop", &m.ext_drop);
    Object::default()
        .set("reliable", m.reliability == Reliability::Reliable)
        .set("more", m.more)
        .set("sn", m.sn)
        .exts(exts)
        .set("payload", hex(&m.payload))
        .kind("Fragment")
}

fn read_fragment(f: &Fields) -> Result<Fragment, Refused> {
    let mut exts = f.exts()?;
    let m = Fragment {
        reliability: reliability(f)?,
        more: f.flag("more")?,
        sn: f.int("sn")?,
        payload: ZSlice::from(f.bytes("payload")?),
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        #[cfg(has_patch)]
        ext_first: exts.take("First").map(|_| ZExtUnit::new()),
        #[cfg(has_patch)]
        ext_drop: exts.take("Drop").map(|_| ZExtUnit::new()),
    };
    exts.done()?;
    Ok(m)
}

fn oam(m: &Oam) -> Value {
    let (enc, value) = body(&m.body);
    Object::default()
        .set("id", m.id)
        .set("enc", enc)
        .exts(List::default().z64("QoS", transport_qos(m.ext_qos)))
        .opt("body", value)
        .kind("Oam")
}

fn read_oam(f: &Fields) -> Result<Oam, Refused> {
    let mut exts = f.exts()?;
    let ext_qos = read_z64(exts.value("QoS")?).unwrap_or_default();
    exts.done()?;
    Ok(Oam { id: f.int("id")?, body: read_body(f, "body")?, ext_qos })
}
