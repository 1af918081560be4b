//! Every limit by name, with its default and the reason for it. Limits are always on; policy lowers them.

use std::fmt;
use std::time::Duration;

use assize_core::plugin::PluginKind;

/// The limits of every call. Two sets are combined with [`Limits::lowered_by`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for one call of a provider. 5 s: it may build a prompt body or parse a long answer.
    pub provider_time: Duration,
    /// Time for one call of an analyzer. 2 s: a file of a few MiB takes milliseconds; more is a fault.
    pub analyzer_time: Duration,
    /// Time for one call of a rate-limit plugin, and for the description of any plugin. 2 s: it reads a few headers.
    pub rate_limit_time: Duration,
    /// Bytes of linear memory, all memories of one store together. 256 MiB: a language runtime and a large report fit.
    pub memory_bytes: usize,
    /// Elements of all tables of one store together. 10,000: they hold function references, never data.
    pub table_elements: usize,
    /// Tables of one store. 16: one for each instance.
    pub tables: usize,
    /// Core instances of one store. 16: a component of one language has three or four.
    pub instances: usize,
    /// Linear memories of one store. 4: one for the program, one for an adapter, and room.
    pub memories: usize,
    /// Resource handles of one store. 10,000: a launch is one, streams and errors are a few; each costs host memory.
    pub handles: usize,
    /// Bytes that one call may return, or hand to one host function. 32 MiB: as much as an HTTP response may have.
    pub output_bytes: usize,
    /// Bytes of log lines and output that are kept of one call. 64 KiB: enough to explain a fault.
    pub log_bytes: usize,
    /// Steps of one launch. 64: a launch with retries and fallbacks takes fewer than ten.
    pub steps: u32,
    /// Bytes of a component. 64 MiB: the largest language runtimes that were seen have a third of it.
    pub component_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            provider_time: Duration::from_secs(5),
            analyzer_time: Duration::from_secs(2),
            rate_limit_time: Duration::from_secs(2),
            memory_bytes: 256 << 20,
            table_elements: 10_000,
            tables: 16,
            instances: 16,
            memories: 4,
            handles: 10_000,
            output_bytes: 32 << 20,
            log_bytes: 64 << 10,
            steps: 64,
            component_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// The lower of both, limit by limit.
    #[must_use]
    pub fn lowered_by(&self, cap: &Limits) -> Limits {
        Limits {
            provider_time: self.provider_time.min(cap.provider_time),
            analyzer_time: self.analyzer_time.min(cap.analyzer_time),
            rate_limit_time: self.rate_limit_time.min(cap.rate_limit_time),
            memory_bytes: self.memory_bytes.min(cap.memory_bytes),
            table_elements: self.table_elements.min(cap.table_elements),
            tables: self.tables.min(cap.tables),
            instances: self.instances.min(cap.instances),
            memories: self.memories.min(cap.memories),
            handles: self.handles.min(cap.handles),
            output_bytes: self.output_bytes.min(cap.output_bytes),
            log_bytes: self.log_bytes.min(cap.log_bytes),
            steps: self.steps.min(cap.steps),
            component_bytes: self.component_bytes.min(cap.component_bytes),
        }
    }

    /// Time for one call of a plugin of the kind.
    pub fn time(&self, kind: PluginKind) -> Duration {
        match kind {
            PluginKind::Provider => self.provider_time,
            PluginKind::RateLimit => self.rate_limit_time,
            PluginKind::Analyzer => self.analyzer_time,
        }
    }

    /// What is allowed under a name, for messages. Time depends on the call and is therefore an argument.
    pub(crate) fn allowed(&self, name: LimitName, time: Duration) -> String {
        match name {
            LimitName::Time => format!("{} ms", time.as_millis()),
            LimitName::Memory => format!("{} bytes", self.memory_bytes),
            LimitName::TableElements => format!("{} elements", self.table_elements),
            LimitName::Tables => format!("{} tables", self.tables),
            LimitName::Instances => format!("{} instances", self.instances),
            LimitName::Memories => format!("{} memories", self.memories),
            LimitName::Handles => format!("{} handles", self.handles),
            LimitName::Output => format!("{} bytes", self.output_bytes),
            LimitName::Steps => format!("{} steps", self.steps),
        }
    }
}

/// Which limit a call broke. There is none for the log: what is beyond it is dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitName {
    /// Time in one call.
    Time,
    /// Linear memory.
    Memory,
    /// Elements of tables.
    TableElements,
    /// Number of tables.
    Tables,
    /// Number of core instances.
    Instances,
    /// Number of linear memories.
    Memories,
    /// Resource handles.
    Handles,
    /// Bytes returned, or handed to a host function.
    Output,
    /// Steps of a launch.
    Steps,
}

impl LimitName {
    /// The word of configuration and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitName::Time => "time",
            LimitName::Memory => "memory",
            LimitName::TableElements => "table-elements",
            LimitName::Tables => "tables",
            LimitName::Instances => "instances",
            LimitName::Memories => "memories",
            LimitName::Handles => "handles",
            LimitName::Output => "output",
            LimitName::Steps => "steps",
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_lowers_and_never_raises() {
        let cap = Limits { memory_bytes: 1, steps: 1_000, ..Limits::default() };
        let lowered = Limits::default().lowered_by(&cap);
        assert_eq!(lowered, Limits { memory_bytes: 1, ..Limits::default() });
    }
}
