//! Who takes part in a run besides what the router does, and what each delegates.

pub mod scheduler;
mod site;
mod user;

pub use site::Site;
pub use user::User;
