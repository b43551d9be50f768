//! A run in one process: the same actors, no network.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::Failure;
use super::conduct::Conducted;
use super::results::{Results, Setting};
use super::signals::Interrupts;
use crate::kernel::{ActorId, Place};
use crate::time::Stamp;
use crate::topology::{self, Loaded, Plan};

/// Batches between two looks at the outside world.
const BATCHES_PER_LOOK: usize = 4096;

/// Runs a topology here and now.
pub fn run(loaded: &Loaded, out: Option<PathBuf>) -> Result<(), Failure> {
    let began = Instant::now();
    let interrupted = watch_for_interrupts()?;
    let plan = Plan::of(&loaded.topology);
    let actors = topology::build(&loaded.topology, &plan.all()).map_err(|error| Failure::Input(error.to_string()))?;
    let mut place = Place::new(actors, plan.latencies.clone());
    let results = Results::create(out.as_deref(), loaded)?;
    let mut progress = results.progress();

    let joined = began.elapsed();
    let mut log = Vec::new();
    let end = loop {
        match place.run_before(Stamp::NEVER, BATCHES_PER_LOOK) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(breach) => {
                let actor = |id: ActorId| plan.names.get(id.index()).cloned().unwrap_or_else(|| id.to_string());
                break Err(Failure::Breach(breach.describe(&actor, &|_| String::new())));
            }
        }
        let records = place.take_log();
        progress.update(place.now().time, place.events(), &records);
        log.extend(records);
        if interrupted.load(Ordering::Relaxed) {
            break Err(Failure::Interrupted("interrupted".to_owned()));
        }
    };
    log.extend(place.take_log());
    progress.clear();

    let conducted = Conducted {
        logs: vec![log],
        reached: place.now().time,
        events: place.events(),
        waits: 0,
        leaves: Vec::new(),
        end,
        wall: began.elapsed().saturating_sub(joined),
    };
    results.conducted(conducted, Setting { layout: "inline".to_owned(), began, joined })
}

/// A flag that goes up on Ctrl-C; set by a thread of its own, since this one computes.
pub fn watch_for_interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let runtime = super::runtime()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let Ok(mut interrupts) = Interrupts::new() else { return };
            interrupts.next().await;
            raised.store(true, Ordering::Relaxed);
            // Whoever asks twice means it.
            interrupts.next().await;
            std::process::exit(130);
        });
    });
    Ok(flag)
}
