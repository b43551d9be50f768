//! Types that several papers share.

mod calendar;
mod check;
mod counts;
mod curve;
mod demand;
mod encoded;
mod failure;
mod graph;
mod job;
mod layers;
mod moving;
mod multifactor;
mod needs;
mod news;
mod nodes;
mod order;
mod outages;
mod program;
mod recovery;
mod request;
pub mod sharing;
mod site;
mod site_times;
mod slots;
mod speed;
mod staging;
mod terms;
mod ways;
mod workflow;

pub use calendar::{Bits, Bounds, Calendar, Clash, Rectangle, RectangleQuery, Set};
pub use check::{JobError, LONGEST};
pub use counts::Counts;
pub use curve::{Curve, CurveError, CurvePart};
pub use demand::{Demand, Share};
pub use failure::{CableId, Distribution, Drawn, Failure, FailurePattern, FailureTarget, Law, Per, Traced};
pub use graph::Graph;
pub use job::{Edge, EdgeId, Job, JobId, Kind, Task, TaskId, Worth};
pub use layers::Layers;
pub use moving::{Images, MoveCost, PenaltyRule};
pub use multifactor::{AccountShares, Multifactor, PartitionFactor, QosLevel, Shares, UserShares};
pub use needs::Needs;
pub use news::News;
pub use nodes::NodeSet;
pub use order::QueueOrder;
pub use outages::{Change, Expected, Outages};
pub use program::{Endpoint, Program, SlurmCluster};
pub use recovery::{Bookings, Checkpoint, CheckpointSchedule, Every, Interrupted, Killed, Recovery};
pub use request::{Invalid, JobShape, Request, SHAPES_MAX};
pub use site::{Behaviour, Named, Reserved, Site, User};
pub use site_times::{SITE_TIMES_MAX, SiteTime, SiteTimes, runtime_at};
pub use slots::{
    Advert, Allocation, Area, BadPart, BookingId, DAY, Denial, FreeList, FreeSlot, Grant, HoldId, Offer, Part, Quote,
    QuoteId, Rate, Receipt, Slot, Tariff, fees_of,
};
pub use speed::Speed;
pub use staging::{Staging, Volumes};
pub use terms::{Approach, Crash, EdgeSlots, InnerSlots, PlanMode, PriceStep, Terms};
pub use ways::{forced_ranks, output_delay};
pub use workflow::{DATA_MAX, Step, Workflow, WorkflowError};
