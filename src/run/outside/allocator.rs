//! External programs that choose among the candidates for a reservation.

use super::RunContext;
use super::lines::LineProgram;
use super::program_link::{ProgramLink, Trouble};
use hansa_sim::grid::Site;
use hansa_sim::protocol::outside::allocator::{
    Allocation, AllocationQuery, AllocatorAnswer, AllocatorFacts, AllocatorQuestion, AllocatorSite,
};
use hansa_sim::protocol::outside::to_seconds;
use hansa_sim::roles::outside::CheckedProgram;
use hansa_sim::systems::ExternalDecider;
use hansa_sim::systems::reservation::{Allocates, Reservation};
use hansa_sim::time::Time;

pub fn greet_allocator(context: &RunContext<'_>, link: ProgramLink, system: usize) -> Result<ExternalDecider, Trouble> {
    let topology = context.topology;
    let reservation: &Reservation = topology.systems[system].settings().expect("only a reservation has an allocator");
    // In the order of the system's grid.
    let sites: Vec<&Site> = topology.sites.iter().filter(|site| site.systems.contains(&system)).collect();
    let facts = AllocatorFacts {
        choose: reservation.choose.word(),
        shape: reservation.shape.word(),
        rect_end: reservation.rect_end.word(),
        sites: sites.iter().map(|site| describe_site(site)).collect(),
    };
    let program = LineProgram::greet_program(context, link, "allocator", facts)?;
    let sites = sites.iter().map(|site| site.name.clone()).collect();
    let decider: Box<dyn Allocates> = Box::new(AllocatorProgram { program, sites });
    Ok(Box::new(decider))
}

fn describe_site(site: &Site) -> AllocatorSite<'_> {
    // Millionths, like the microseconds of a second.
    AllocatorSite { name: &site.name, nodes: site.cores, speed: to_seconds(site.speed_millionths) }
}

struct AllocatorProgram {
    program: LineProgram,
    /// Names of the system's sites.
    sites: Vec<String>,
}

impl Allocates for AllocatorProgram {
    fn choose_candidate(&mut self, now: Time, query: &AllocationQuery) -> Option<Allocation> {
        self.program.request_answer(now, AllocatorQuestion::new(query, &self.sites), AllocatorAnswer::allocation)
    }
}

impl CheckedProgram for AllocatorProgram {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        self.program.refuse_answer(now, why);
    }

    fn has_failed(&self) -> bool {
        self.program.has_failed()
    }
}
