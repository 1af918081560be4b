//! What is reviewed, by which lens, in which tasks and packets, and what the reviewer is told.
//!
//! `derive_structure` reads facts and relations into units, surfaces, flows, risks and leads; `plan_tasks` turns them into
//! tasks that together hold every required (file, lens) pair; `plan_packets` sizes them; `render_prompt` words them.

mod changes;
mod design;
mod flows;
mod graph;
mod groups;
mod lenses;
mod options;
mod packets;
mod prompt;
mod risk;
mod schema;
mod signals;
mod slices;
mod structure;
mod surfaces;
mod table;
mod tasks;
mod testing;
mod units;
mod work;

pub use changes::{PlanChanges, plan_changes};
pub use design::{DesignLead, LeadEvidence, LeadKind};
pub use flows::{Flow, FlowSink, MAX_FLOW_FILES};
pub use graph::{Edge, NearEdge, Neighbourhood};
pub use options::{Depth, PacketOptions, PlanOptions};
pub use packets::{derive_packet_id, estimate_tokens, plan_packets, split_packet};
pub use prompt::{PROMPT_VERSION, PromptContext, render_prompt};
pub use risk::{FileRisk, Signal};
pub use schema::RESULTS_SCHEMA;
pub use slices::split_task;
pub use structure::{Structure, derive_structure};
pub use surfaces::{Surface, SurfaceKind};
pub use tasks::{Plan, RequiredPair, derive_task_id, plan_tasks};
pub use units::{MAX_UNIT_FILES, MAX_UNIT_LINES, Unit, UnitKind};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
