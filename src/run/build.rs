//! The library that `hansa clock` preloads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    // Tests try fewer cases in builds that are not optimised.
    println!("cargo:rustc-check-cfg=cfg(unoptimised)");
    if env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo:rustc-cfg=unoptimised");
    }
    for source in ["clock/preload", "build.rs"] {
        println!("cargo:rerun-if-changed={source}");
    }
    clock_library();
}

/// Compiles `clock/preload` to a shared library in `OUT_DIR`. The file is empty for targets where nothing can
/// be preloaded, and where the compiler fails; `hansa clock` then says so.
fn clock_library() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("libhansa_clock.so");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_supported = target("OS") == "linux"
        && target("ENV") == "gnu"
        && target("POINTER_WIDTH") == "64"
        && ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if is_supported && is_newer(&out, &["clock/preload", "build.rs"]) {
        return;
    }
    let _ = fs::remove_file(&out);
    let is_made = is_supported && {
        let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets it"));
        rustc.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=hansa_clock", "--cap-lints=allow"]);
        rustc.args(["-Cpanic=abort", "-Copt-level=2", "-Clto=fat", "-Ccodegen-units=1", "-Cforce-unwind-tables=yes"]);
        rustc.args(["-Cstrip=symbols", "--target", &env::var("TARGET").expect("cargo sets it")]);
        if let Some(linker) = env::var_os("RUSTC_LINKER") {
            let mut flag = std::ffi::OsString::from("-Clinker=");
            flag.push(linker);
            rustc.arg(flag);
        }
        rustc.arg("clock/preload/main.rs").arg("-o").arg(&out);
        match rustc.output() {
            Ok(made) if made.status.success() => true,
            Ok(made) => {
                let why = String::from_utf8_lossy(&made.stderr).into_owned();
                println!("cargo:warning=hansa clock is left out: {}", why.lines().next().unwrap_or("no reason given"));
                false
            }
            Err(error) => {
                println!("cargo:warning=hansa clock is left out: {error}");
                false
            }
        }
    };
    if !is_made {
        fs::write(&out, b"").expect("a file in OUT_DIR");
    }
}

/// True if a file is there, is not empty, and is newer than all of these files and folders.
fn is_newer(file: &Path, sources: &[&str]) -> bool {
    let Ok(made) = fs::metadata(file).and_then(|made| Ok((made.len() > 0).then_some(made.modified()?))) else {
        return false;
    };
    let is_older =
        |path: &Path| fs::metadata(path).and_then(|path| path.modified()).is_ok_and(|time| Some(time) < made);
    sources.iter().map(Path::new).all(|source| match fs::read_dir(source) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|entry| is_older(&entry.path()))),
        Err(_) => is_older(source),
    })
}
