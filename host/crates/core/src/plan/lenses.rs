//! Which lenses a file requires, and why: a floor by kind, more by what was seen in it, and words in its path only as a weak hint.

use std::borrow::Cow;

use crate::inventory::{FileKind, FileRow};
use crate::lens::Lens;
use crate::result::Severity;

use super::options::{Depth, PlanOptions};
use super::risk::FileRisk;
use super::signals::{FileSignals, weighed_severity};
use super::surfaces::SurfaceKind;
use super::work;

/// Lenses under which flows are followed.
pub(super) const FLOW_LENSES: [Lens; 3] = [Lens::Security, Lens::Correctness, Lens::Reliability];
/// A file of this risk is looked at for failure as well, whatever it does.
const RISKY: u8 = 50;
/// With this risk, a word in the path is enough.
const HINTED: u8 = 20;

/// What is known of a file when its lenses are chosen.
pub(super) struct LensEvidence<'a> {
    pub(super) row: &'a FileRow,
    pub(super) signals: &'a FileSignals<'a>,
    pub(super) risk: Option<&'a FileRisk>,
    /// Files of the program that need it.
    pub(super) fan_in: u32,
    /// Whether a flow goes through it.
    pub(super) on_flow: bool,
    /// Its surest way in.
    pub(super) surface: Option<SurfaceKind>,
}

type Reason = Cow<'static, str>;

/// Lenses in scheduling order, each with its first reason. Architecture is never among them: it is for units.
pub(super) fn required_lenses(evidence: &LensEvidence<'_>, options: &PlanOptions) -> Vec<(Lens, Reason)> {
    let mut wanted = Wanted::default();
    add_floor(evidence.row.kind, &mut wanted);
    if options.depth >= Depth::Standard && evidence.row.kind != FileKind::Doc {
        add_findings(evidence, &mut wanted);
        if evidence.row.kind != FileKind::Test {
            add_sinks(evidence, &mut wanted);
            add_surroundings(evidence, &mut wanted);
        }
        add_imports(evidence, &mut wanted);
        add_numbers(evidence, &mut wanted);
        add_path_hints(evidence, &mut wanted);
    }
    if options.depth == Depth::Deep {
        applicable(evidence.row.kind).iter().for_each(|lens| wanted.add(*lens, || "applies to its kind".into()));
    }
    let taken = wanted.0.into_iter().zip(Lens::ALL).filter_map(|(reason, lens)| Some((lens, reason?)));
    taken.filter(|(lens, _)| *lens != Lens::Architecture && options.allows(*lens)).collect()
}

/// A place for each lens, in scheduling order.
#[derive(Default)]
struct Wanted([Option<Reason>; Lens::ALL.len()]);

impl Wanted {
    /// The first reason stays: the strongest come first.
    fn add(&mut self, lens: Lens, reason: impl FnOnce() -> Reason) {
        self.0[position(lens)].get_or_insert_with(reason);
    }
}

/// Place of a lens in the scheduling order.
pub(super) fn position(lens: Lens) -> usize {
    Lens::ALL.iter().position(|other| *other == lens).unwrap_or(0)
}

fn add_floor(kind: FileKind, wanted: &mut Wanted) {
    let floor: &[Lens] = match kind {
        FileKind::Source | FileKind::Schema | FileKind::Other => &[Lens::Security, Lens::Correctness],
        FileKind::Script | FileKind::Infra | FileKind::Ci => &[Lens::Security, Lens::Correctness],
        FileKind::Test => &[Lens::Correctness, Lens::Tests],
        FileKind::Config => &[Lens::Security, Lens::ConfigDeployment],
        FileKind::Doc => &[],
    };
    floor.iter().for_each(|lens| wanted.add(*lens, || "floor for its kind".into()));
}

fn applicable(kind: FileKind) -> &'static [Lens] {
    use Lens::*;
    match kind {
        FileKind::Source | FileKind::Other => &[
            Security,
            Correctness,
            Reliability,
            DataIntegrity,
            Concurrency,
            Performance,
            Operability,
            Observability,
            Maintainability,
            Tests,
        ],
        FileKind::Script => &[Security, Correctness, Reliability, Operability, ConfigDeployment, Maintainability],
        FileKind::Infra | FileKind::Ci => &[Security, Correctness, Reliability, Operability, ConfigDeployment],
        FileKind::Schema => &[Security, Correctness, DataIntegrity, Performance, Maintainability],
        FileKind::Config => &[Security, Correctness, Operability, ConfigDeployment],
        FileKind::Test => &[Correctness, Reliability, Maintainability, Tests],
        FileKind::Doc => &[],
    }
}

/// A rule's finding asks for its own lens.
fn add_findings(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    for finding in &evidence.signals.findings {
        let lens = Lens::parse(&finding.lens).unwrap_or(Lens::Correctness);
        if weighed_severity(finding) >= Some(Severity::Medium) {
            wanted.add(lens, || format!("finding of {}", finding.rule).into());
        }
    }
}

fn add_sinks(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    for sink in evidence.signals.sinks.keys() {
        let lenses: &[Lens] = match *sink {
            "network" | "subprocess" => &[Lens::Security, Lens::Reliability],
            "file" => &[Lens::Security, Lens::Reliability],
            "sql" => &[Lens::Security, Lens::Reliability, Lens::DataIntegrity],
            "deserialize" => &[Lens::Security, Lens::DataIntegrity],
            _ => &[Lens::Security],
        };
        lenses.iter().for_each(|lens| wanted.add(*lens, || format!("sink/{sink}").into()));
    }
}

fn add_surroundings(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    let row = evidence.row;
    if evidence.on_flow {
        FLOW_LENSES.iter().for_each(|lens| wanted.add(*lens, || "on a flow from a surface to a sink".into()));
    }
    match evidence.surface {
        Some(SurfaceKind::Route) => {
            wanted.add(Lens::Reliability, || "serves requests".into());
            wanted.add(Lens::Observability, || "serves requests".into());
        }
        Some(SurfaceKind::Message | SurfaceKind::Job) => {
            wanted.add(Lens::Reliability, || "works unattended".into());
            wanted.add(Lens::Observability, || "works unattended".into());
        }
        Some(SurfaceKind::Cli) => wanted.add(Lens::Operability, || "is run by people".into()),
        Some(SurfaceKind::Entry | SurfaceKind::Library) | None => {}
    }
    match row.kind {
        FileKind::Schema => wanted.add(Lens::DataIntegrity, || "describes data".into()),
        FileKind::Ci | FileKind::Infra => wanted.add(Lens::ConfigDeployment, || "ships or runs the program".into()),
        FileKind::Script => wanted.add(Lens::Operability, || "is run by people".into()),
        _ => {}
    }
    let risk = evidence.risk.map_or(0, |risk| risk.score);
    if risk >= RISKY {
        wanted.add(Lens::Reliability, || format!("risk {risk}").into());
    }
    if risk >= HINTED && evidence.risk.is_some_and(|risk| risk.has("untested")) {
        wanted.add(Lens::Tests, || "risky and without a test".into());
    }
}

fn add_imports(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    let mut lower = String::new();
    for specifier in &evidence.signals.imports {
        for word in specifier.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            work::tick();
            lower.clear();
            lower.extend(word.chars().map(|letter| letter.to_ascii_lowercase()));
            let Ok(at) = IMPORT_WORDS.binary_search_by(|(known, _)| (*known).cmp(&lower)) else {
                continue;
            };
            for lens in IMPORT_WORDS[at].1 {
                wanted.add(*lens, || format!("imports {specifier}").into());
            }
        }
    }
}

fn add_numbers(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    let (signals, lines) = (evidence.signals, evidence.row.lines.unwrap_or(0));
    let complexity = ["max-complexity", "complexity"].map(|name| signals.metric(name)).into_iter().fold(0.0, f64::max);
    if evidence.row.kind == FileKind::Source && (lines >= 400 || complexity >= 20.0) {
        wanted.add(Lens::Maintainability, || "long or involved".into());
    }
    if evidence.fan_in >= 10 && lines >= 100 {
        wanted.add(Lens::Performance, || format!("{} files need it", evidence.fan_in).into());
    }
    if complexity >= 30.0 {
        wanted.add(Lens::Performance, || "involved".into());
    }
    for name in signals.metrics.keys() {
        match name.split('/').next() {
            Some("concurrency" | "async" | "unsafe" | "lock") => {
                wanted.add(Lens::Concurrency, || (*name).to_owned().into())
            }
            Some("loop" | "hot") => wanted.add(Lens::Performance, || (*name).to_owned().into()),
            _ => {}
        }
    }
}

/// A word in a path says what somebody meant the file to be; it counts only where something real makes the file risky.
fn add_path_hints(evidence: &LensEvidence<'_>, wanted: &mut Wanted) {
    if evidence.row.kind == FileKind::Test || evidence.risk.is_none_or(|risk| risk.score < HINTED) {
        return;
    }
    let mut lower = String::new();
    for word in evidence.row.path.split(|letter: char| !letter.is_alphanumeric()) {
        lower.clear();
        lower.extend(word.chars().map(|letter| letter.to_ascii_lowercase()));
        let lens = match lower.as_str() {
            "migration" | "migrations" | "models" | "repository" | "storage" | "store" => Lens::DataIntegrity,
            "cache" | "index" | "parser" | "query" | "search" => Lens::Performance,
            "lock" | "pool" | "queue" | "scheduler" | "worker" | "workers" => Lens::Concurrency,
            "client" | "retry" | "sync" => Lens::Reliability,
            _ => continue,
        };
        wanted.add(lens, || format!("risky, and `{lower}` in its path").into());
    }
}

use Lens::{
    Concurrency as CON, ConfigDeployment as CFG, DataIntegrity as DAT, Observability as OBS, Operability as OPE,
    Performance as PER, Reliability as REL,
};

/// Words of import specifiers that tell what a file deals with. Sorted.
const IMPORT_WORDS: [(&str, &[Lens]); 117] = [
    ("actix_web", &[REL]),
    ("aiohttp", &[REL, CON]),
    ("amqp", &[REL]),
    ("amqplib", &[REL]),
    ("argparse", &[OPE]),
    ("async_std", &[CON]),
    ("asyncio", &[CON]),
    ("atomic", &[CON]),
    ("axios", &[REL]),
    ("axum", &[REL]),
    ("boto3", &[REL]),
    ("bull", &[REL, CON]),
    ("bullmq", &[REL, CON]),
    ("celery", &[REL, CON]),
    ("child_process", &[REL]),
    ("clap", &[OPE]),
    ("click", &[OPE]),
    ("cobra", &[OPE]),
    ("commander", &[OPE]),
    ("concurrent", &[CON]),
    ("crossbeam", &[CON]),
    ("csv", &[DAT]),
    ("dashmap", &[CON]),
    ("diesel", &[DAT]),
    ("dotenv", &[CFG]),
    ("dotenvy", &[CFG]),
    ("ecto", &[DAT]),
    ("eventlet", &[CON]),
    ("express", &[REL]),
    ("fastapi", &[REL]),
    ("fastify", &[REL]),
    ("flask", &[REL]),
    ("flume", &[CON]),
    ("futures", &[CON]),
    ("gevent", &[CON]),
    ("gorm", &[DAT]),
    ("got", &[REL]),
    ("grpc", &[REL]),
    ("hibernate", &[DAT]),
    ("http", &[REL]),
    ("httpclient", &[REL]),
    ("https", &[REL]),
    ("httpx", &[REL]),
    ("hyper", &[REL]),
    ("ioredis", &[REL, DAT]),
    ("jdbc", &[DAT]),
    ("jpa", &[DAT]),
    ("kafka", &[REL]),
    ("kafkajs", &[REL]),
    ("knex", &[DAT]),
    ("koa", &[REL]),
    ("libc", &[REL]),
    ("log4j", &[OBS]),
    ("logrus", &[OBS]),
    ("marshmallow", &[DAT]),
    ("mongodb", &[DAT]),
    ("mongoose", &[DAT]),
    ("mpsc", &[CON]),
    ("multiprocessing", &[CON]),
    ("mutex", &[CON]),
    ("mysql", &[DAT]),
    ("mysql2", &[DAT]),
    ("net", &[REL]),
    ("numpy", &[PER]),
    ("opentelemetry", &[OBS]),
    ("pandas", &[DAT, PER]),
    ("parking_lot", &[CON]),
    ("peewee", &[DAT]),
    ("pg", &[DAT]),
    ("pickle", &[DAT]),
    ("pika", &[REL]),
    ("postgres", &[DAT]),
    ("prisma", &[DAT]),
    ("prometheus", &[OBS]),
    ("prometheus_client", &[OBS]),
    ("prost", &[DAT]),
    ("protobuf", &[DAT]),
    ("psycopg2", &[DAT]),
    ("pthread", &[CON]),
    ("pymongo", &[DAT]),
    ("rayon", &[CON, PER]),
    ("redis", &[REL, DAT]),
    ("requests", &[REL]),
    ("reqwest", &[REL]),
    ("rusqlite", &[DAT]),
    ("sentry", &[OBS]),
    ("sentry_sdk", &[OBS]),
    ("sequelize", &[DAT]),
    ("shutil", &[REL]),
    ("slf4j", &[OBS]),
    ("smtplib", &[REL]),
    ("socket", &[REL]),
    ("sqlalchemy", &[DAT]),
    ("sqlite3", &[DAT]),
    ("sqlx", &[DAT]),
    ("subprocess", &[REL]),
    ("sync", &[CON]),
    ("tempfile", &[REL]),
    ("thread", &[CON]),
    ("threading", &[CON]),
    ("threadpool", &[CON]),
    ("tokio", &[CON]),
    ("tonic", &[REL]),
    ("tracing", &[OBS]),
    ("typeorm", &[DAT]),
    ("undici", &[REL]),
    ("urllib", &[REL]),
    ("urllib3", &[REL]),
    ("viper", &[CFG]),
    ("warp", &[REL]),
    ("websocket", &[REL, CON]),
    ("websockets", &[REL, CON]),
    ("winston", &[OBS]),
    ("worker_threads", &[CON]),
    ("yargs", &[OPE]),
    ("zap", &[OBS]),
    ("zmq", &[REL, CON]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_searched() {
        assert!(IMPORT_WORDS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn every_kind_but_prose_has_a_floor_and_no_kind_asks_for_architecture() {
        for kind in
            [FileKind::Source, FileKind::Test, FileKind::Config, FileKind::Ci, FileKind::Infra, FileKind::Schema]
        {
            let mut wanted = Wanted::default();
            add_floor(kind, &mut wanted);
            assert_eq!(wanted.0.iter().flatten().count(), 2, "{kind:?}");
            assert!(!applicable(kind).contains(&Lens::Architecture));
        }
    }
}
