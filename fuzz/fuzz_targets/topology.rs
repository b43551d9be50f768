//! Whatever a topology file holds, reading it gives a topology or complaints; and what was read can be written and
//! read again to the same.

#![no_main]

use hansa::topology;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = &mut |path: &str| if path == "fuzz.toml" { Ok(bytes.to_vec()) } else { Err("no such file".to_owned()) };
    match topology::load("fuzz.toml", &[], read) {
        Ok(loaded) => {
            let text = loaded.topology.to_toml();
            let read = &mut |_: &str| Ok(text.clone().into_bytes());
            let again = topology::load("fuzz.toml", &[], read).expect("what was written can be read").topology;
            assert_eq!(again.to_toml(), text);
        }
        Err(complaints) => assert!(!complaints.to_string().is_empty()),
    }
});
