//! Nine shapes of network message, filled from the input, written and read again.
//! With ZCONFORM_SAVE the bytes that were written are kept in that folder, to be replayed elsewhere.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use zenoh_buffers::{
    reader::{DidntRead, HasReader},
    writer::{DidntWrite, HasWriter},
};
use zenoh_codec::{RCodec, WCodec, Zenoh080};
use zenoh_protocol::{
    common::ZExtBody,
    core::WireExpr,
    network::{
        declare::{self, DeclareBody, DeclareFinal, DeclareSubscriber},
        interest::{Interest, InterestMode, InterestOptions},
        oam::{self, Oam}, request, response,
        Declare, NetworkBody, NetworkMessage, Push, Request, Response, ResponseFinal,
    },
    zenoh::{ConsolidationMode, Del, PushBody, Put, Query, Reply, RequestBody, ResponseBody},
};

#[derive(Arbitrary, Debug)]
enum Shape {
    DeclareSubscriber { id: u32, suffix: [u8; 6] },
    DeclareFinal,
    Interest { id: u32, mode: u8, restricted: bool },
    Oam { id: u16, body: [u8; 8] },
    PushDel,
    PushPut { payload: [u8; 12] },
    Request { id: u32, name: [u8; 6] },
    Response { rid: u32, payload: [u8; 12] },
    ResponseFinal { rid: u32 },
}

fn key(letters: &[u8]) -> WireExpr<'static> {
    let name: String = letters.iter().map(|letter| char::from(b'a' + letter % 26)).collect();
    format!("demo/{name}").into()
}

fn put(payload: &[u8]) -> PushBody {
    PushBody::from(Put { payload: payload.to_vec().into(), ..Put::default() })
}

fn push(payload: PushBody) -> NetworkBody {
    NetworkBody::Push(Push { wire_expr: key(b"push"), payload, ..Push::from(PushBody::from(Put::default())) })
}

fn built(shape: Shape) -> NetworkMessage {
    let declare = |body| NetworkBody::Declare(Declare {
        interest_id: None, ext_qos: declare::ext::QoSType::DECLARE, ext_tstamp: None,
        ext_nodeid: declare::ext::NodeIdType::DEFAULT, body,
    });
    let body = match shape {
        Shape::DeclareSubscriber { id, suffix } => {
            declare(DeclareBody::DeclareSubscriber(DeclareSubscriber { id, wire_expr: key(&suffix) }))
        }
        Shape::DeclareFinal => declare(DeclareBody::DeclareFinal(DeclareFinal)),
        Shape::Interest { id, mode, restricted } => {
            let mode = [InterestMode::Final, InterestMode::Current, InterestMode::Future, InterestMode::CurrentFuture]
                [mode as usize % 4];
            let last = mode == InterestMode::Final;
            NetworkBody::Interest(Interest {
                id, mode,
                options: if last { InterestOptions::empty() } else { InterestOptions::KEYEXPRS },
                wire_expr: (restricted && !last).then(|| key(b"inter")),
                ext_qos: declare::ext::QoSType::DECLARE, ext_tstamp: None,
                ext_nodeid: declare::ext::NodeIdType::DEFAULT,
            })
        }
        Shape::Oam { id, body } => NetworkBody::OAM(Oam {
            id, body: ZExtBody::ZBuf(body.to_vec().into()), ext_qos: oam::ext::QoSType::OAM, ext_tstamp: None,
        }),
        Shape::PushDel => push(PushBody::from(Del { timestamp: None, ext_sinfo: None, ext_attachment: None, ext_unknown: vec![] })),
        Shape::PushPut { payload } => push(put(&payload)),
        Shape::Request { id, name } => NetworkBody::Request(Request {
            id, wire_expr: key(&name), payload: RequestBody::Query(Query::default()), ..request_default()
        }),
        Shape::Response { rid, payload } => NetworkBody::Response(Response {
            rid, wire_expr: key(b"reply"), ext_qos: response::ext::QoSType::DEFAULT, ext_tstamp: None, ext_respid: None,
            ext_ts_stack: None,
            payload: ResponseBody::from(Reply {
                consolidation: ConsolidationMode::DEFAULT, ext_unknown: vec![], payload: put(&payload),
            }),
        }),
        Shape::ResponseFinal { rid } => NetworkBody::ResponseFinal(ResponseFinal {
            rid, ext_qos: response::ext::QoSType::DEFAULT, ext_tstamp: None,
        }),
    };
    body.into()
}

fn request_default() -> Request {
    Request {
        id: 0, wire_expr: key(b""), ext_qos: request::ext::QoSType::REQUEST, ext_tstamp: None,
        ext_nodeid: request::ext::NodeIdType::DEFAULT, ext_target: request::ext::QueryTarget::DEFAULT,
        ext_budget: None, ext_timeout: None, ext_ts_stack: None, payload: RequestBody::Query(Query::default()),
    }
}

fuzz_target!(|shape: Shape| {
    let message = built(shape);
    let codec = Zenoh080::new();
    let mut bytes = Vec::new();
    let written: Result<(), DidntWrite> = codec.write(&mut bytes.writer(), &message);
    written.expect("what was made is written");
    if let Some(folder) = std::env::var_os("ZCONFORM_SAVE") {
        let name: String = bytes.iter().take(60).map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(std::path::Path::new(&folder).join(name), &bytes).expect("the folder is there");
    }
    let again: Result<NetworkMessage, DidntRead> = codec.read(&mut bytes.reader());
    assert_eq!(again.expect("what was written is read"), message);
});
