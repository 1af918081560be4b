//! Slots and their launches: leased, launching, concluded, and then settled (see `settle`) or freed.

use std::collections::HashMap;

use assize_core::id::{LaneId, LaunchId, PacketId, TaskId};
use assize_core::plugin::{Outcome, Usage};
use assize_core::result::ReviewerKind;
use rusqlite::Row;
use serde_json::json;

use crate::error::{Fault, StoreError};
use crate::files::check_launch_name;
use crate::lock::Holder;
use crate::sql::{self, Sql};
use crate::store::Store;
use crate::tasks::state_of;

/// A packet that is to be leased to a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSlot {
    /// The launch; also the name of its run directory, so letters, digits, `-`, `_` and `.` only.
    pub launch: LaunchId,
    /// The wave; its row is made with its first slot.
    pub wave: u64,
    /// The packet.
    pub packet: PacketId,
    /// Its tasks, all of them pending.
    pub tasks: Vec<TaskId>,
    /// The lane.
    pub lane: LaneId,
    /// What kind of reviewer the lane leads to.
    pub reviewer: ReviewerKind,
    /// The model that is asked for, when somebody said one.
    pub model: Option<String>,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// Who holds the lease.
    pub holder: Holder,
    /// When the lease is past unless it is renewed, milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// Now, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Where a launch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaunchState {
    /// The slot is leased.
    Leased,
    /// The launch has begun.
    Launching,
    /// It has ended; what it brought is not ingested yet.
    Concluded,
    /// Everything that it brought is in the store.
    Settled,
    /// The lease was taken back.
    Freed,
}

impl LaunchState {
    const ALL: [Self; 5] = [Self::Leased, Self::Launching, Self::Concluded, Self::Settled, Self::Freed];

    /// The word used in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leased => "leased",
            Self::Launching => "launching",
            Self::Concluded => "concluded",
            Self::Settled => "settled",
            Self::Freed => "freed",
        }
    }

    /// Whether the slot still has its tasks.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Leased | Self::Launching | Self::Concluded)
    }

    fn parse(word: &str) -> Result<Self, Fault> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| Fault::Row(format!("unknown launch state {word}")))
    }
}

/// Whether the tasks of a launch have one attempt less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptCost {
    /// The launch was a fair try.
    Counted,
    /// It was not: the program is missing, the host died, a person interrupted.
    Uncounted,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchEnd {
    /// The launch.
    pub launch: LaunchId,
    /// What it was.
    pub outcome: Outcome,
    /// One line a person can act on; no prompt, arguments or source.
    pub message: String,
    /// What it cost, where that is known.
    pub usage: Option<Usage>,
    /// How long it took, milliseconds.
    pub wall_ms: u64,
    /// Exit code of a program.
    pub exit_code: Option<i32>,
    /// Signal that ended a program.
    pub exit_signal: Option<i32>,
    /// Whether it counts against its tasks.
    pub attempt: AttemptCost,
    /// Now, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// A live slot: what recovery looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The launch.
    pub launch: LaunchId,
    /// Leased, launching or concluded.
    pub state: LaunchState,
    /// The packet.
    pub packet: PacketId,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// The lane.
    pub lane: LaneId,
    /// What kind of reviewer the lane leads to; absent where an older version leased it.
    pub reviewer: Option<ReviewerKind>,
    /// The model that was asked for, when somebody said one.
    pub model: Option<String>,
    /// Which attempt it is.
    pub attempt: u32,
    /// Who holds it; whether that process lives is the caller's to find out.
    pub holder: Holder,
    /// When it is past, milliseconds since the Unix epoch.
    pub until_ms: u64,
}

/// One launch, past or present. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    /// The launch.
    pub launch: LaunchId,
    /// Where it stands.
    pub state: LaunchState,
    /// The wave.
    pub wave: u64,
    /// The packet.
    pub packet: PacketId,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// The lane.
    pub lane: LaneId,
    /// What kind of reviewer the lane led to; absent where an older version leased it.
    pub reviewer: Option<ReviewerKind>,
    /// The model that was asked for, when somebody said one.
    pub model: Option<String>,
    /// Which attempt it was.
    pub attempt: u32,
    /// Who holds or held it.
    pub holder: Holder,
    /// When the lease is or was past.
    pub until_ms: u64,
    /// When it was leased.
    pub leased_ms: u64,
    /// When the launch began.
    pub started_ms: Option<u64>,
    /// When it ended or was freed.
    pub ended_ms: Option<u64>,
    /// What it was.
    pub outcome: Option<Outcome>,
    /// One line a person can act on.
    pub message: Option<String>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// How long it took, milliseconds.
    pub wall_ms: Option<u64>,
    /// Exit code of a program.
    pub exit_code: Option<i32>,
    /// Signal that ended a program.
    pub exit_signal: Option<i32>,
    /// Why the lease was taken back.
    pub freed_reason: Option<String>,
    /// Its tasks wait for a person.
    pub waiting: bool,
}

impl Store {
    /// Leases the packet: all of its tasks, or none of them.
    ///
    /// # Errors
    /// [`StoreError::BadLaunchId`], [`StoreError::LaunchExists`], [`StoreError::UnknownTask`],
    /// [`StoreError::TaskNotPending`], and what SQLite says.
    pub fn lease_slot(&mut self, slot: &NewSlot) -> Result<(), StoreError> {
        check_launch_name(&slot.launch)?;
        self.write("lease a slot", |sql| lease(sql, slot))
    }

    /// Keeps a lease alive.
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`]; [`StoreError::WrongLaunchState`] where the lease was given up or taken back.
    pub fn renew_lease(&mut self, launch: &LaunchId, until_ms: u64) -> Result<(), StoreError> {
        self.write("renew a lease", |sql| {
            expect_state(sql, launch, "renew a lease", LaunchState::is_live)?;
            let update = "UPDATE launches SET lease_until_ms = ?2 WHERE launch = ?1";
            sql.execute(update, (launch.as_str(), sql::to_sql(until_ms))).map(drop)
        })
    }

    /// The launch of a leased slot begins.
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`]; [`StoreError::WrongLaunchState`] where it is not leased.
    pub fn start_launch(&mut self, launch: &LaunchId, at_ms: u64) -> Result<(), StoreError> {
        self.write("start a launch", |sql| {
            expect_state(sql, launch, "start a launch", |state| state == LaunchState::Leased)?;
            let update = "UPDATE launches SET state = 'launching', started_ms = ?2 WHERE launch = ?1";
            sql.execute(update, (launch.as_str(), sql::to_sql(at_ms)))?;
            sql.note(at_ms, "launch-started", &json!({ "launch": launch }))
        })
    }

    /// Records how a launch ended, before what it brought has been looked at. Its tasks stay with it until
    /// [`Store::settle`].
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`]; [`StoreError::WrongLaunchState`] where it has ended already.
    pub fn conclude_launch(&mut self, end: &LaunchEnd) -> Result<(), StoreError> {
        self.write("conclude a launch", |sql| {
            let begun = |state| matches!(state, LaunchState::Leased | LaunchState::Launching);
            expect_state(sql, &end.launch, "conclude a launch", begun)?;
            conclude(sql, end)
        })
    }

    /// Takes a live slot back without a result: its tasks are pending again.
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`]; [`StoreError::WrongLaunchState`] where it is not live.
    pub fn free_slot(
        &mut self,
        launch: &LaunchId,
        reason: &str,
        attempt: AttemptCost,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        self.write("free a slot", |sql| {
            expect_state(sql, launch, "free a slot", LaunchState::is_live)?;
            for task in tasks_of(sql, launch)? {
                count_attempt(sql, &task, attempt)?;
                sql.execute(REQUEUE, [task.as_str()])?;
            }
            let update = "UPDATE launches SET state = 'freed', freed_reason = ?2, counted = ?3,
                 ended_ms = coalesce(ended_ms, ?4) WHERE launch = ?1";
            let counted = attempt == AttemptCost::Counted;
            sql.execute(update, (launch.as_str(), reason, counted, sql::to_sql(at_ms)))?;
            sql.note(at_ms, "slot-freed", &json!({ "launch": launch, "counted": counted }))
        })
    }

    /// Every live slot, oldest launch first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.read("read leases", |sql| {
            let rows = sql.every(&select("state IN ('leased', 'launching', 'concluded')"), [], read_launch)?;
            rows.into_iter()
                .map(|row| {
                    Ok(Lease {
                        tasks: tasks_of(sql, &row.launch)?,
                        launch: row.launch,
                        state: row.state,
                        packet: row.packet,
                        lane: row.lane,
                        reviewer: row.reviewer,
                        model: row.model,
                        attempt: row.attempt,
                        holder: row.holder,
                        until_ms: row.until_ms,
                    })
                })
                .collect()
        })
    }

    /// Every launch there ever was, oldest first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn launches(&self) -> Result<Vec<LaunchRow>, StoreError> {
        self.read("read launches", |sql| {
            let mut tasks: HashMap<String, Vec<TaskId>> = HashMap::new();
            let pairs = "SELECT launch, task FROM launch_tasks ORDER BY launch, ord";
            sql.every(pairs, [], |row| {
                let task = TaskId::new(row.get::<_, String>(1)?);
                tasks.entry(row.get(0)?).or_default().push(task);
                Ok(())
            })?;
            let mut rows = sql.every(&select("1"), [], read_launch)?;
            for row in &mut rows {
                row.tasks = tasks.remove(row.launch.as_str()).unwrap_or_default();
            }
            Ok(rows)
        })
    }

    /// One launch.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn launch(&self, launch: &LaunchId) -> Result<Option<LaunchRow>, StoreError> {
        self.read("read a launch", |sql| {
            let row = sql.first(&select("launch = ?1"), [launch.as_str()], read_launch)?;
            row.map(|row| Ok(LaunchRow { tasks: tasks_of(sql, launch)?, ..row })).transpose()
        })
    }

    /// Number and opening time, milliseconds since the Unix epoch, of every wave, oldest first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn waves(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        self.read("read waves", |sql| {
            sql.every("SELECT number, opened_ms FROM waves ORDER BY number", [], |row| {
                Ok((sql::unsigned(row, 0)?, sql::unsigned(row, 1)?))
            })
        })
    }
}

/// Gives a leased task back. One that got a result in the meantime, or left the plan, stays what it is.
pub(crate) const REQUEUE: &str = "UPDATE tasks SET state = 'pending' WHERE id = ?1 AND state = 'leased'";

fn lease(sql: &Sql<'_>, slot: &NewSlot) -> Result<(), Fault> {
    let launch = slot.launch.as_str();
    if sql.first("SELECT 1 FROM launches WHERE launch = ?1", [launch], |_| Ok(()))?.is_some() {
        return Err(StoreError::LaunchExists { launch: slot.launch.clone() }.into());
    }
    let (wave, at) = (sql::to_sql(slot.wave), sql::to_sql(slot.at_ms));
    sql.execute("INSERT INTO waves (number, opened_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING", (wave, at))?;
    let insert = "INSERT INTO launches (launch, state, wave, packet, lane, attempt, holder_pid, holder_started,
         holder_host, lease_until_ms, leased_ms, reviewer, model)
         VALUES (?1, 'leased', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let (until, holder) = (sql::to_sql(slot.until_ms), &slot.holder);
    let whose = (holder.pid, &holder.started, &holder.host);
    let kind = slot.reviewer.as_str();
    let (packet, lane) = (slot.packet.as_str(), slot.lane.as_str());
    let values = (launch, wave, packet, lane, slot.attempt, whose.0, whose.1, whose.2, until, at, kind, &slot.model);
    sql.execute(insert, values)?;
    for (ord, task) in slot.tasks.iter().enumerate() {
        lease_task(sql, task)?;
        let insert = "INSERT INTO launch_tasks (launch, ord, task) VALUES (?1, ?2, ?3)";
        sql.execute(insert, (launch, sql::to_sql(ord as u64), task.as_str()))?;
    }
    let subject = json!({
        "launch": slot.launch, "wave": slot.wave, "packet": slot.packet, "lane": slot.lane,
        "attempt": slot.attempt, "tasks": slot.tasks,
    });
    sql.note(slot.at_ms, "slot-leased", &subject)
}

fn lease_task(sql: &Sql<'_>, task: &TaskId) -> Result<(), Fault> {
    let update = "UPDATE tasks SET state = 'leased' WHERE id = ?1 AND state = 'pending'";
    if sql.execute(update, [task.as_str()])? > 0 {
        return Ok(());
    }
    let task = task.clone();
    Err(match state_of(sql, &task)? {
        Some(state) => StoreError::TaskNotPending { task, state },
        None => StoreError::UnknownTask { task },
    }
    .into())
}

/// The state of a launch, if it allows the operation.
pub(crate) fn expect_state(
    sql: &Sql<'_>,
    launch: &LaunchId,
    operation: &'static str,
    allowed: impl FnOnce(LaunchState) -> bool,
) -> Result<LaunchState, Fault> {
    let word = sql
        .first("SELECT state FROM launches WHERE launch = ?1", [launch.as_str()], |row| Ok(row.get::<_, String>(0)?))?;
    let Some(word) = word else { return Err(StoreError::UnknownLaunch { launch: launch.clone() }.into()) };
    let state = LaunchState::parse(&word)?;
    if allowed(state) {
        return Ok(state);
    }
    Err(StoreError::WrongLaunchState { operation, launch: launch.clone(), state }.into())
}

/// Writes the end of a launch into its row.
pub(crate) fn conclude(sql: &Sql<'_>, end: &LaunchEnd) -> Result<(), Fault> {
    let usage = end.usage.as_ref().map(sql::encode).transpose()?;
    let update = "UPDATE launches SET state = 'concluded', outcome = ?2, message = ?3, usage = ?4, wall_ms = ?5,
         exit_code = ?6, exit_signal = ?7, ended_ms = ?8 WHERE launch = ?1";
    let values = (
        end.launch.as_str(),
        end.outcome.as_str(),
        &end.message,
        usage,
        sql::to_sql(end.wall_ms),
        end.exit_code,
        end.exit_signal,
        sql::to_sql(end.at_ms),
    );
    sql.execute(update, values)?;
    sql.note(end.at_ms, "launch-concluded", &json!({ "launch": end.launch, "outcome": end.outcome }))
}

/// The tasks of a launch, in the packet's order.
pub(crate) fn tasks_of(sql: &Sql<'_>, launch: &LaunchId) -> Result<Vec<TaskId>, Fault> {
    let statement = "SELECT task FROM launch_tasks WHERE launch = ?1 ORDER BY ord";
    sql.every(statement, [launch.as_str()], |row| Ok(TaskId::new(row.get::<_, String>(0)?)))
}

/// Counts a launch against a task.
pub(crate) fn count_attempt(sql: &Sql<'_>, task: &TaskId, attempt: AttemptCost) -> Result<(), Fault> {
    if attempt == AttemptCost::Uncounted {
        return Ok(());
    }
    sql.execute("UPDATE tasks SET attempts = attempts + 1 WHERE id = ?1", [task.as_str()]).map(drop)
}

fn select(filter: &str) -> String {
    format!(
        "SELECT launch, state, wave, packet, lane, attempt, holder_pid, holder_started, holder_host, lease_until_ms,
         leased_ms, started_ms, ended_ms, outcome, message, usage, wall_ms, exit_code, exit_signal, freed_reason,
         reviewer, waiting, model FROM launches WHERE {filter} ORDER BY launch"
    )
}

/// A row of [`select`], without its tasks.
fn read_launch(row: &Row<'_>) -> Result<LaunchRow, Fault> {
    let outcome: Option<String> = row.get(13)?;
    let usage: Option<String> = row.get(15)?;
    Ok(LaunchRow {
        launch: LaunchId::new(row.get::<_, String>(0)?),
        state: LaunchState::parse(&row.get::<_, String>(1)?)?,
        wave: sql::unsigned(row, 2)?,
        packet: PacketId::new(row.get::<_, String>(3)?),
        tasks: Vec::new(),
        lane: LaneId::new(row.get::<_, String>(4)?),
        attempt: sql::small(row, 5)?,
        holder: Holder { pid: sql::small(row, 6)?, started: row.get(7)?, host: row.get(8)? },
        until_ms: sql::unsigned(row, 9)?,
        leased_ms: sql::unsigned(row, 10)?,
        started_ms: sql::unsigned_option(row, 11)?,
        ended_ms: sql::unsigned_option(row, 12)?,
        outcome: outcome.map(|word| sql::decode_word(&word)).transpose()?,
        message: row.get(14)?,
        usage: usage.map(|text| sql::decode(&text)).transpose()?,
        wall_ms: sql::unsigned_option(row, 16)?,
        exit_code: row.get(17)?,
        exit_signal: row.get(18)?,
        freed_reason: row.get(19)?,
        reviewer: row.get::<_, Option<String>>(20)?.map(|word| sql::decode_word(&word)).transpose()?,
        waiting: row.get(21)?,
        model: row.get(22)?,
    })
}
