#![no_main]

#[path = "../../tests/harm/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::sacct(bytes));
