//! Order of a queue.

use crate::words::words;

words! {
    /// Order in which a site considers its waiting jobs. Jobs of one rank are in order of arrival.
    #[derive(Default)]
    QueueOrder {
        /// In order of arrival.
        #[default]
        Arrival = "arrival",
        /// The shortest walltime first.
        Shortest = "shortest",
        /// The most nodes first.
        Largest = "largest",
        /// The largest stretch so far first: (wait + walltime) / walltime; computed anew whenever the site schedules.
        MostStretched = "most-stretched",
        /// The largest priority first, as Slurm's multifactor plug-in computes it; weights are those of `multifactor`.
        Multifactor = "multifactor",
    }
}
