//! What `assize` decides: domain, planning, validation, dispatch, synthesis and rendering, all of it pure.
//! It awaits nothing, opens no file, starts no process and reads no clock; the world comes in as plain data.

pub mod codec;
pub mod dispatch;
pub mod fact;
pub mod grant;
pub mod id;
pub mod inventory;
pub mod lens;
pub mod obligation;
pub mod plan;
pub mod plugin;
pub mod render;
pub mod result;
pub mod review;
pub mod simulate;
pub mod task;
