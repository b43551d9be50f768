//! Ctrl-C and its kin.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;

/// The signals by which a person or an operating system asks a process to end.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub fn new() -> Result<Interrupts, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::System(format!("cannot listen for signals: {error}")));
        Ok(Interrupts { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
