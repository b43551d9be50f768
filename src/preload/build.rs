//! The shared library, made of this crate's own sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(preloadable, preloaded)");
    let sources = list_sources();
    for source in &sources {
        println!("cargo:rerun-if-changed={}", source.display());
    }
    let is_preloadable = is_preloadable();
    if is_preloadable {
        println!("cargo:rustc-cfg=preloadable");
    }
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("libhansa_clock.so");
    if is_preloadable && is_newer(&library, &sources) {
        return;
    }
    let _ = fs::remove_file(&library);
    let failure = if is_preloadable { compile_library(&library).err() } else { None };
    if let Some(why) = &failure {
        println!("cargo:warning=hansa clock is left out: {why}");
    }
    if !is_preloadable || failure.is_some() {
        fs::write(&library, b"").expect("a file in OUT_DIR");
    }
}

/// True if the library can be preloaded into programs of the target.
fn is_preloadable() -> bool {
    target_property("OS") == "linux"
        && target_property("ENV") == "gnu"
        && target_property("POINTER_WIDTH") == "64"
        && ["x86_64", "aarch64"].contains(&target_property("ARCH").as_str())
}

fn target_property(what: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default()
}

/// All Rust files of this folder.
fn list_sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(".").expect("the folder of the package");
    let paths = entries.map(|entry| entry.expect("an entry of the package").file_name().into());
    paths.filter(|path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Compiles `lib.rs` to a shared library. An error has the first line of the reason.
fn compile_library(library: &Path) -> Result<(), String> {
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets it"));
    rustc.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=hansa_clock"]);
    rustc.args(["--cfg=preloadable", "--cfg=preloaded"]);
    rustc.args(["-Cpanic=abort", "-Copt-level=2", "-Clto=fat", "-Ccodegen-units=1", "-Cforce-unwind-tables=yes"]);
    rustc.args(["-Cstrip=symbols", "--target", &env::var("TARGET").expect("cargo sets it")]);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut flag = std::ffi::OsString::from("-Clinker=");
        flag.push(linker);
        rustc.arg(flag);
    }
    rustc.arg("lib.rs").arg("-o").arg(library);
    let made = rustc.output().map_err(|error| error.to_string())?;
    if made.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&made.stderr).into_owned();
    Err(why.lines().next().unwrap_or("no reason given").to_owned())
}

/// True if a file is there, is not empty, and is newer than all of these files.
fn is_newer(file: &Path, sources: &[PathBuf]) -> bool {
    let Ok(made) = fs::metadata(file).and_then(|made| Ok((made.len() > 0).then_some(made.modified()?))) else {
        return false;
    };
    sources.iter().all(|path| fs::metadata(path).and_then(|path| path.modified()).is_ok_and(|time| Some(time) < made))
}
