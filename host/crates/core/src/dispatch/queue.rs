//! The packets that wait, grouped by the lanes that may take them, so that finding the next one never walks the queue.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;

/// A packet that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) tasks: Vec<TaskId>,
    /// Estimated tokens of its prompt.
    pub(super) tokens: u64,
    /// Whether it ran before; what comes back goes ahead of what never ran.
    pub(super) ran: bool,
    /// Lane that failed it last; another one is better.
    pub(super) not_on: Option<usize>,
    /// Lanes that refused its one task.
    pub(super) refused_by: BTreeSet<usize>,
}

/// A place in the order of arrival.
pub(super) type Place = (u8, u64);

/// Packets of one group may go to the same lanes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// Lane that failed them last.
    pub(super) not_on: Option<usize>,
    /// Lanes whose model takes them and that have not refused them.
    pub(super) lanes: Vec<usize>,
}

/// All packets that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    groups: BTreeMap<Group, BTreeMap<Place, Waiting>>,
    next_place: u64,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn push(&mut self, group: Group, waiting: Waiting) {
        let place = (u8::from(!waiting.ran), self.next_place);
        self.next_place += 1;
        self.groups.entry(group).or_default().insert(place, waiting);
    }

    /// The first packet of every group, in order of arrival.
    pub(super) fn heads(&self) -> Vec<(Place, Group)> {
        let first = |(group, packets): (&Group, &BTreeMap<Place, Waiting>)| {
            packets.first_key_value().map(|(place, _)| (*place, group.clone()))
        };
        let mut heads: Vec<_> = self.groups.iter().filter_map(first).collect();
        heads.sort_unstable();
        heads
    }

    pub(super) fn head(&self, group: &Group) -> Option<&Waiting> {
        self.groups.get(group)?.values().next()
    }

    pub(super) fn pop(&mut self, group: &Group) -> Option<Waiting> {
        let packets = self.groups.get_mut(group)?;
        let (_, waiting) = packets.pop_first()?;
        if packets.is_empty() {
            self.groups.remove(group);
        }
        Some(waiting)
    }

    /// Takes out every packet of the groups that have no lane left.
    pub(super) fn take_stranded(&mut self, is_live: impl Fn(usize) -> bool) -> Vec<Waiting> {
        let is_stranded = |group: &Group| !group.lanes.iter().any(|lane| is_live(*lane));
        let stranded: Vec<Group> = self.groups.keys().filter(|group| is_stranded(group)).cloned().collect();
        stranded.iter().filter_map(|group| self.groups.remove(group)).flat_map(BTreeMap::into_values).collect()
    }
}
