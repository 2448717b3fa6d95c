//! Asks the pinned zenoh-protocol which fields it has, so that one source serves every release and no table of
//! versions has to be kept: each feature below becomes a `cfg`.

use std::{env, fs, path::PathBuf, process::Command};

/// (cfg, file under zenoh-protocol's `src`, text that is there when the release has it)
const FEATURES: [(&str, &str, &str); 7] = [
    ("has_region_name", "transport/init.rs", "pub ext_region_name"),
    ("has_patch", "transport/init.rs", "pub ext_patch"),
    ("has_south", "transport/open.rs", "pub ext_south"),
    ("has_remote_bound", "transport/open.rs", "pub ext_remote_bound"),
    ("has_ts_stack", "network/push.rs", "pub ext_ts_stack"),
    ("frame_is_slice", "transport/frame.rs", "pub payload: ZSlice"),
    ("has_message_ref", "network/mod.rs", "pub struct NetworkMessageRef"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let source = protocol_source();
    for (cfg, file, text) in FEATURES {
        println!("cargo:rustc-check-cfg=cfg({cfg})");
        let path = source.join(file);
        let content = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if content.contains(text) {
            println!("cargo:rustc-cfg={cfg}");
        }
    }
}

/// Where cargo keeps the sources of the pinned zenoh-protocol.
fn protocol_source() -> PathBuf {
    let cargo = env::var("CARGO").expect("cargo sets CARGO for build scripts");
    let target = env::var("TARGET").expect("cargo sets TARGET for build scripts");
    let answer = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", &target])
        .output()
        .expect("cargo metadata could not be started");
    assert!(answer.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&answer.stderr));
    let text = String::from_utf8(answer.stdout).expect("cargo metadata is UTF-8");
    let name = format!("zenoh-protocol-{}", env::var("CARGO_PKG_VERSION").expect("cargo sets the version"));
    let manifest = text
        .split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .find(|path| path.contains(&name))
        .unwrap_or_else(|| panic!("cargo metadata names no {name}"));
    PathBuf::from(manifest).parent().expect("a manifest is in a folder").join("src")
}
