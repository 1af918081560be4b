//! Launches a task that the user describes as an editor's `tasks.json` does, without a shell, and judges what it left behind.
//!
//! What a launch of a template is, is said once, in the sources of the command provider, which are compiled into this
//! component too. Its crate is not linked: two components in one binary would export the same functions.

#[path = "../../provider-command/src/channels.rs"]
mod channels;
#[path = "../../provider-command/src/launch.rs"]
mod command;
#[cfg(target_family = "wasm")]
mod component;
#[path = "../../provider-command/src/config.rs"]
mod config;
mod editor;
mod task;
#[path = "../../provider-command/src/template.rs"]
mod template;

pub use editor::VscodeTaskLaunch;
pub use task::{TASK_SCHEMA, TaskConfig};
