//! Packets: tasks that share files go to one reviewer, as many as fit. The one sizer for planning, deepening and requeueing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::id::{Digest, PacketId, TaskId};
use crate::lens::Lens;
use crate::task::{LineRange, Packet, Task, TaskFile};

use super::lenses::position;
use super::options::PacketOptions;
use super::work;

/// The prompt without lenses, files and tasks; a test holds the template to it.
pub(super) const FIXED_TOKENS: u64 = 900;
/// The text of one lens.
const LENS_TOKENS: u64 = 180;
/// A task's line in the prompt, beside its files.
const TASK_TOKENS: u64 = 70;
/// A file's line in the prompt, beside its path.
const FILE_TOKENS: u64 = 12;
/// A file's coverage in the answer.
const COVERAGE_TOKENS: u64 = 24;
/// The number in front of a line of content.
const NUMBER_TOKENS: u64 = 2;

/// Tokens of the source text that a task reads: a quarter of the bytes of its files, by the share of their lines.
pub fn estimate_tokens(task: &Task) -> u64 {
    task.files.iter().map(content_tokens).fold(0, u64::saturating_add)
}

fn lines_of(file: &TaskFile) -> u64 {
    file.range.map_or(file.total_lines, |range| (range.last + 1).saturating_sub(range.first))
}

fn content_tokens(file: &TaskFile) -> u64 {
    let share = u128::from(file.bytes) * u128::from(lines_of(file)) / u128::from(file.total_lines.max(1));
    let bytes = if file.range.is_none() { file.bytes } else { u64::try_from(share).unwrap_or(u64::MAX) };
    bytes.div_ceil(4)
}

/// The id of a packet by its tasks, in whatever order.
pub fn derive_packet_id(tasks: &[TaskId]) -> PacketId {
    let mut ids: Vec<&[u8]> = tasks.iter().map(|id| id.as_str().as_bytes()).collect();
    ids.sort_unstable();
    PacketId::new(Digest::of_parts(ids).short(16))
}

/// Packs every task into exactly one packet, the most urgent packets first: by priority, risk, then id.
///
/// A packet holds tasks of one unit. A task that is too large by itself gets a packet of its own, whose `estimated_tokens` tell.
pub fn plan_packets(tasks: &[&Task], options: &PacketOptions) -> Vec<Packet> {
    let mut seen = HashSet::new();
    let mut ordered: Vec<&Task> = tasks.iter().copied().filter(|task| seen.insert(&task.id)).collect();
    let batches = lens_batches(&ordered, options.max_lenses.max(1));
    let batch = |task: &Task| batches.get(&(task.unit.as_str(), task.lens)).copied().unwrap_or(0);
    ordered.sort_by_cached_key(|task| {
        work::tick();
        let first = task.files.first().map(|file| (file.path.as_str(), file.range));
        (task.unit.as_str(), batch(task), first, position(task.lens), task.id.as_str())
    });
    let (mut packets, mut draft) = (Vec::new(), Draft::default());
    let mut last: Option<(&str, usize)> = None;
    for task in ordered {
        let place = (task.unit.as_str(), batch(task));
        if last.is_some_and(|last| last != place) || !draft.accepts(task, options) {
            packets.extend(draft.close());
        }
        draft.add(task, options);
        last = Some(place);
    }
    packets.extend(draft.close());
    sort_packets(&mut packets);
    packets
}

fn sort_packets(packets: &mut [Packet]) {
    packets.sort_by(|a, b| (b.priority, b.risk).cmp(&(a.priority, a.risk)).then_with(|| a.id.cmp(&b.id)));
}

/// Which lenses of a unit travel together: each unit's lenses in scheduling order, so many at a time.
fn lens_batches<'t>(tasks: &[&'t Task], most: usize) -> HashMap<(&'t str, Lens), usize> {
    let mut lenses: Vec<(&str, usize, Lens)> = tasks
        .iter()
        .inspect(|_| work::tick())
        .map(|task| (task.unit.as_str(), position(task.lens), task.lens))
        .collect();
    lenses.sort_unstable();
    lenses.dedup();
    let of_unit = lenses.chunk_by(|a, b| a.0 == b.0);
    of_unit.flat_map(|unit| unit.iter().enumerate().map(|(at, (name, _, lens))| ((*name, *lens), at / most))).collect()
}

/// A packet that is being filled.
#[derive(Default)]
struct Draft<'t> {
    tasks: Vec<&'t Task>,
    lenses: HashSet<Lens>,
    files: HashSet<(&'t str, Option<LineRange>)>,
    content: u64,
    frame: u64,
    answers: u64,
}

/// What a task would add.
struct Cost {
    content: u64,
    frame: u64,
    answers: u64,
}

impl<'t> Draft<'t> {
    fn cost_of(&self, task: &'t Task, options: &PacketOptions) -> Cost {
        let mut cost = Cost {
            content: 0,
            frame: TASK_TOKENS + task.deepening.as_ref().map_or(0, |deepening| tokens_of(&deepening.question)),
            answers: options.answer_tokens,
        };
        if !self.lenses.contains(&task.lens) {
            cost.frame += LENS_TOKENS;
        }
        for file in &task.files {
            work::tick();
            cost.answers = cost.answers.saturating_add(COVERAGE_TOKENS + tokens_of(&file.path));
            if !self.files.contains(&(file.path.as_str(), file.range)) {
                cost.content = cost.content.saturating_add(content_tokens(file));
                let numbers = lines_of(file).saturating_mul(NUMBER_TOKENS);
                cost.frame = cost.frame.saturating_add(FILE_TOKENS + tokens_of(&file.path)).saturating_add(numbers);
            }
        }
        cost
    }

    fn accepts(&self, task: &'t Task, options: &PacketOptions) -> bool {
        if self.tasks.is_empty() {
            return true;
        }
        let cost = self.cost_of(task, options);
        let content = self.content.saturating_add(cost.content);
        let all = content
            .saturating_add(self.frame + cost.frame)
            .saturating_add(self.answers + cost.answers)
            .saturating_add(FIXED_TOKENS + options.overhead_tokens);
        let lenses = self.lenses.len() + usize::from(!self.lenses.contains(&task.lens));
        // Estimates from bytes are off by a sixth either way; the margin takes that up.
        self.tasks.len() < options.max_tasks.max(1)
            && lenses <= options.max_lenses.max(1)
            && content <= options.max_input_tokens
            && all <= options.context_tokens / 100 * 85
    }

    fn add(&mut self, task: &'t Task, options: &PacketOptions) {
        let cost = self.cost_of(task, options);
        if self.tasks.is_empty() {
            self.frame = FIXED_TOKENS.saturating_add(options.overhead_tokens);
        }
        self.content = self.content.saturating_add(cost.content);
        self.frame = self.frame.saturating_add(cost.frame);
        self.answers = self.answers.saturating_add(cost.answers);
        self.lenses.insert(task.lens);
        self.files.extend(task.files.iter().map(|file| (file.path.as_str(), file.range)));
        self.tasks.push(task);
    }

    /// Ends the packet and starts an empty one; nothing when there is nothing in it.
    fn close(&mut self) -> Option<Packet> {
        let mut draft = std::mem::take(self);
        draft.tasks.sort_by(|a, b| (b.priority, b.risk).cmp(&(a.priority, a.risk)).then_with(|| a.name.cmp(&b.name)));
        let tasks: Vec<TaskId> = draft.tasks.iter().map(|task| task.id.clone()).collect();
        let first = draft.tasks.first()?;
        Some(Packet {
            id: derive_packet_id(&tasks),
            priority: first.priority,
            risk: draft.tasks.iter().map(|task| task.risk).max().unwrap_or(0),
            estimated_tokens: draft.content.saturating_add(draft.frame).saturating_add(draft.answers),
            tasks,
        })
    }
}

fn tokens_of(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Two packets for one that does not fit a lane, cut between files rather than through them. One packet comes back as it is:
/// its task must be split by `split_task`. `tasks` may hold others; those of the packet are found by id.
pub fn split_packet(packet: &Packet, tasks: &[&Task], options: &PacketOptions) -> Vec<Packet> {
    let wanted: HashSet<&TaskId> = packet.tasks.iter().collect();
    let mut seen = HashSet::new();
    let mut own: Vec<&Task> =
        tasks.iter().copied().filter(|task| wanted.contains(&task.id) && seen.insert(&task.id)).collect();
    if own.len() < 2 {
        return vec![packet.clone()];
    }
    own.sort_by_cached_key(|task| {
        let first = task.files.first().map(|file| (file.path.as_str(), file.range));
        (first, position(task.lens), task.id.as_str())
    });
    let at = middle_of(&own);
    let halves = [&own[..at], &own[at..]];
    let mut packets: Vec<Packet> = halves
        .into_iter()
        .filter_map(|half| {
            let mut draft = Draft::default();
            half.iter().for_each(|task| draft.add(task, options));
            draft.close()
        })
        .collect();
    sort_packets(&mut packets);
    packets
}

/// The change of files that is nearest to the middle; the middle where all tasks read the same files.
fn middle_of(tasks: &[&Task]) -> usize {
    let middle = tasks.len() / 2;
    let first = |at: usize| tasks[at].files.first().map(|file| (&file.path, file.range));
    (1..tasks.len())
        .filter(|at| first(*at) != first(*at - 1))
        .min_by_key(|at| (at.abs_diff(middle), Reverse(*at)))
        .unwrap_or(middle.max(1))
}
