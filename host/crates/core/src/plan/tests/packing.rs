//! Packets and their limits.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::plan::fixture::{inventory, repository, row};
use crate::plan::{
    Depth, PacketOptions, PlanOptions, derive_structure, estimate_tokens, plan_packets, plan_tasks, split_packet,
};
use crate::task::{Packet, Task};

fn tasks_of(files: usize, depth: Depth) -> Vec<Task> {
    let repository = repository(files);
    let structure = derive_structure(&repository.inventory, &repository.facts, &repository.relations, &BTreeMap::new());
    let options = PlanOptions { depth, ..PlanOptions::default() };
    plan_tasks(&repository.inventory, &structure, &repository.facts, &options).tasks
}

fn members<'t>(packet: &Packet, tasks: &'t [Task]) -> Vec<&'t Task> {
    tasks.iter().filter(|task| packet.tasks.contains(&task.id)).collect()
}

#[test]
fn every_task_is_in_exactly_one_packet_within_all_limits() {
    let tasks = tasks_of(400, Depth::Deep);
    let refs: Vec<&Task> = tasks.iter().chain(tasks.iter().take(5)).collect();
    let options = PacketOptions { context_tokens: 48_000, ..PacketOptions::default() };
    let packets = plan_packets(&refs, &options);
    let packed: Vec<_> = packets.iter().flat_map(|packet| &packet.tasks).collect();
    assert_eq!(packed.len(), tasks.len());
    assert_eq!(packed.iter().collect::<HashSet<_>>().len(), tasks.len());
    for packet in &packets {
        let members = members(packet, &tasks);
        assert!(members.len() <= 12);
        assert!(members.iter().map(|task| task.lens).collect::<HashSet<_>>().len() <= 3);
        assert_eq!(members.iter().map(|task| &task.unit).collect::<HashSet<_>>().len(), 1);
        let files: HashMap<_, _> =
            members.iter().flat_map(|task| &task.files).map(|file| (&file.path, file.bytes)).collect();
        assert!(members.len() == 1 || files.values().sum::<u64>() / 4 <= 32_000);
        assert!(members.len() == 1 || packet.estimated_tokens <= 48_000 * 85 / 100);
    }
    assert!(packets.windows(2).all(|pair| (pair[0].priority, pair[0].risk) >= (pair[1].priority, pair[1].risk)));
    assert!(packets.len() * 2 < tasks.len(), "{} packets for {} tasks", packets.len(), tasks.len());
}

#[test]
fn tasks_over_the_same_files_travel_together() {
    let inventory = inventory((0..5).map(|at| row(&format!("src/f{at}.rs"), 100)).collect());
    let structure = derive_structure(&inventory, &[], &[], &BTreeMap::new());
    let tasks = plan_tasks(&inventory, &structure, &[], &PlanOptions::default()).tasks;
    let refs: Vec<&Task> = tasks.iter().collect();
    let packets = plan_packets(&refs, &PacketOptions::default());
    let all: u64 = tasks.iter().map(estimate_tokens).sum();
    assert!(
        tasks.len() >= 3 && packets.len() == tasks.len().div_ceil(3),
        "{} tasks, {} packets",
        tasks.len(),
        packets.len()
    );
    assert!(packets[0].estimated_tokens < all + 5_000);
}

#[test]
fn a_task_beyond_the_budget_stands_alone_and_says_so() {
    let mut wide = row("wide.rs", 10);
    wide.size = 4_000_000;
    let inventory = inventory(vec![row("a.rs", 10), wide]);
    let structure = derive_structure(&inventory, &[], &[], &BTreeMap::new());
    let tasks = plan_tasks(&inventory, &structure, &[], &PlanOptions::default()).tasks;
    let refs: Vec<&Task> = tasks.iter().collect();
    let packets = plan_packets(&refs, &PacketOptions::default());
    let large: Vec<_> = packets.iter().filter(|packet| packet.estimated_tokens > 1_000_000).collect();
    assert!(!large.is_empty());
    assert!(large.iter().all(|packet| { members(packet, &tasks).iter().all(|task| task.files[0].path == "wide.rs") }));
}

#[test]
fn a_packet_splits_until_single_tasks_are_left() {
    let tasks = tasks_of(60, Depth::Standard);
    let refs: Vec<&Task> = tasks.iter().collect();
    let options = PacketOptions::default();
    let packets = plan_packets(&refs, &options);
    let packet = packets.iter().max_by_key(|packet| packet.tasks.len()).expect("there are packets");
    let (mut open, mut done) = (vec![packet.clone()], Vec::new());
    while let Some(packet) = open.pop() {
        let parts = split_packet(&packet, &refs, &options);
        if parts.len() == 1 {
            assert_eq!(parts[0], packet);
            done.extend(packet.tasks);
        } else {
            assert!(parts.iter().all(|part| part.tasks.len() < packet.tasks.len()));
            open.extend(parts);
        }
    }
    assert!(done.len() > 2);
    assert_eq!(done.iter().collect::<HashSet<_>>(), packet.tasks.iter().collect::<HashSet<_>>());
}

#[test]
fn the_id_of_a_packet_does_not_depend_on_the_order_of_tasks() {
    let tasks = tasks_of(100, Depth::Standard);
    let mut refs: Vec<&Task> = tasks.iter().collect();
    let once = plan_packets(&refs, &PacketOptions::default());
    refs.reverse();
    assert_eq!(once, plan_packets(&refs, &PacketOptions::default()));
    assert!(once.iter().all(|packet| packet.id.as_str().len() == 16));
}
