//! The data of one store: what a guest may use up, what it said, and when its call ends.

use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Result};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::log;
use crate::call::CallContext;
use crate::inert;
use crate::limits::{LimitName, Limits};
use crate::logs::{LogBuffer, LogLevel, LogLine};

/// Handles of streams, pollables and errors that a guest may hold on the host. Standard libraries hold a handful.
const HANDLES: usize = 1024;

/// The data of one store.
pub(crate) struct Guest {
    pub(crate) budget: Budget,
    pub(crate) logs: LogBuffer,
    /// When the running call ends.
    pub(crate) deadline: Instant,
    now_ms: u64,
    seed: [u8; 32],
    /// Made when it is first asked for: most calls never do.
    wasi: Option<WasiCtx>,
    table: ResourceTable,
}

impl Guest {
    pub(crate) fn new(limits: &Limits, call: &CallContext, deadline: Instant) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        Self {
            budget: Budget::new(limits),
            logs: LogBuffer::new(limits.log_bytes),
            deadline,
            now_ms: call.now_ms,
            seed: call.seed,
            wasi: None,
            table,
        }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| inert::wasi(self.now_ms, &self.seed, &self.logs));
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.logs.line(LogLine { level, message, fields });
    }
}

/// A guest broke a limit; travels through the engine's error so that the limit is known by its type.
#[derive(Debug, thiserror::Error)]
#[error("limit `{0}` broken")]
pub(crate) struct Broken(pub(crate) LimitName);

/// What is left of memory and tables. Memories and tables only grow, so sums over the whole store are enough.
pub(crate) struct Budget {
    memory: usize,
    elements: usize,
    tables: usize,
    instances: usize,
    memories: usize,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self {
            memory: limits.memory_bytes,
            elements: limits.table_elements,
            tables: limits.tables,
            instances: limits.instances,
            memories: limits.memories,
        }
    }
}

/// An error, not `false`: a guest that is told that memory did not grow aborts somewhere else, and the reason is lost.
fn spend(left: &mut usize, current: usize, desired: usize, name: LimitName) -> Result<bool> {
    match left.checked_sub(desired.saturating_sub(current)) {
        Some(rest) => {
            *left = rest;
            Ok(true)
        }
        None => Err(Broken(name).into()),
    }
}

impl ResourceLimiter for Budget {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        spend(&mut self.memory, current, desired, LimitName::Memory)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        spend(&mut self.elements, current, desired, LimitName::TableElements)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn memories(&self) -> usize {
        self.memories
    }
}
