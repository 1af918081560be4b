//! Makes the row of one entry: from an earlier row when nothing changed, otherwise by reading the file once.

use std::borrow::Cow;
use std::path::Path;

use assize_core::inventory::{Encoding, FileKind, FileRow, FileStatus};

use crate::Problem;
use crate::disposition::{
    Subject, Traits, derive_disposition, derive_traits, is_vendored, recall_language, recall_traits,
};
use crate::encoding::decode;
use crate::language::{ByName, derive_by_name, derive_language};
use crate::language_table::Language;
use crate::open::open_seen;
use crate::path_text::render_path;
use crate::purpose::derive_kind;
use crate::rules::Attributes;
use crate::scan::{CHUNK, Scan, scan};
use crate::walk::{Entry, Fate, place_of, unreadable_reason};

/// Modification time of a row that must not be trusted later: the file was touched so shortly before the survey that it
/// may change again without a new time. Git calls such entries racy.
pub const UNTRUSTED_MTIME: i64 = i64::MIN;

/// How old a modification must be at the start of a survey: two seconds, the coarsest clock of file systems in use.
const RACY_NS: i64 = 2_000_000_000;

/// Bytes above which a file is not even hashed, so that a sparse file of terabytes does not stop the survey.
const HASH_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// Bytes that a file may grow while it is read before it is given up.
const GROWTH: u64 = 1024 * 1024;

/// Earlier rows by path.
pub(crate) type Known<'a> = &'a (dyn Fn(&str) -> Option<FileRow> + Sync);

/// What does not differ between entries.
pub(crate) struct Bench<'a> {
    pub(crate) root: &'a Path,
    pub(crate) max_parse_bytes: u64,
    pub(crate) now_ns: i64,
    pub(crate) known: Known<'a>,
}

/// A row, and how it came about.
pub(crate) struct Inspected {
    pub(crate) row: FileRow,
    pub(crate) problem: Option<Problem>,
    pub(crate) read: bool,
    pub(crate) reused: bool,
}

/// Makes the row. The buffer is scratch space of [`CHUNK`] bytes.
pub(crate) fn inspect(bench: &Bench, entry: &Entry, buffer: &mut [u8]) -> Inspected {
    debug_assert_eq!(buffer.len(), CHUNK);
    let (path, raw) = render_path(&entry.path);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let by_name = if path.ends_with('/') { ByName::Unknown } else { derive_by_name(&name) };
    let mut row = blank_row(path, raw, entry);
    let (attributes, in_vendor) = match entry.fate {
        Fate::Plain { attributes, vendored } => (attributes, vendored),
        Fate::Settled(status, reason) => {
            name_only(&mut row, by_name, status, reason);
            return Inspected { row, problem: None, read: false, reused: false };
        }
    };
    if is_vendored(&name, in_vendor, attributes) {
        name_only(&mut row, by_name, FileStatus::Excluded, "vendored");
        return Inspected { row, problem: None, read: false, reused: false };
    }
    if entry.size > HASH_LIMIT {
        name_only(&mut row, by_name, FileStatus::Unreadable, "too-large");
        return Inspected { row, problem: None, read: false, reused: false };
    }
    let about = About { name: &name, by_name, attributes, max_parse_bytes: bench.max_parse_bytes };
    if let Some(language) = about.reuse(bench, &mut row) {
        row.language = language.map_or("", |language| language.name).to_owned();
        return Inspected { row, problem: None, read: false, reused: true };
    }
    match read(bench, entry, buffer) {
        Ok(scanned) => {
            about.settle_scanned(&mut row, scanned);
            Inspected { row, problem: None, read: true, reused: false }
        }
        Err((reason, message)) => {
            name_only(&mut row, by_name, FileStatus::Unreadable, reason);
            let problem = Some(Problem::new(row.path.clone(), message));
            Inspected { row, problem, read: false, reused: false }
        }
    }
}

/// A plain file's name and what its place says of it.
struct About<'a> {
    name: &'a str,
    by_name: ByName,
    attributes: Attributes,
    max_parse_bytes: u64,
}

impl About<'_> {
    /// Fills the row from an earlier one if the file is the same, and gives the language.
    fn reuse(&self, bench: &Bench, row: &mut FileRow) -> Option<Option<&'static Language>> {
        let old = (bench.known)(&row.path)?;
        let same = old.size == row.size && old.mtime_ns == row.mtime_ns && old.inode == row.inode && old.raw == row.raw;
        if !same || old.digest.is_none() || is_racy(row, bench.now_ns) {
            return None;
        }
        let language = recall_language(self.by_name, &old.language)?;
        let mut filled = FileRow {
            digest: old.digest,
            lines: old.lines,
            longest_line: old.longest_line,
            encoding: old.encoding,
            ..row.clone()
        };
        let recalled = recall_traits(&old.reason);
        self.settle(&mut filled, language, recalled.unwrap_or_default());
        // Rules that look at the content cannot be followed from a row whose reason does not tell of it.
        if recalled.is_none() && recall_traits(&filled.reason).is_some() {
            return None;
        }
        *row = filled;
        Some(language)
    }

    fn settle_scanned(&self, row: &mut FileRow, scanned: Scan) {
        let head = head_text(&scanned);
        let language = derive_language(self.by_name, &head);
        let traits = derive_traits(self.name, &head, scanned.blank);
        row.size = scanned.size;
        row.digest = Some(scanned.digest);
        row.lines = scanned.lines;
        row.longest_line = scanned.longest_line;
        row.encoding = scanned.encoding;
        self.settle(row, language, traits);
    }

    fn settle(&self, row: &mut FileRow, language: Option<&'static Language>, traits: Traits) {
        row.language = language.map_or("", |language| language.name).to_owned();
        row.kind = derive_kind(&row.path, language);
        let subject = Subject {
            name: self.name,
            language,
            kind: row.kind,
            attributes: self.attributes,
            size: row.size,
            lines: row.lines,
            longest_line: row.longest_line,
            encoding: row.encoding,
            traits,
            max_parse_bytes: self.max_parse_bytes,
        };
        let (status, reason) = derive_disposition(&subject);
        row.status = status;
        row.reason = reason.to_owned();
    }
}

fn read(bench: &Bench, entry: &Entry, buffer: &mut [u8]) -> Result<Scan, (&'static str, String)> {
    let failed = |error: std::io::Error| (unreadable_reason(&error), error.to_string());
    let (mut file, metadata) = open_seen(&place_of(bench.root, entry), entry.device, entry.inode).map_err(failed)?;
    let limit = metadata.len().saturating_add(GROWTH);
    let scanned = scan(&mut file, buffer, limit).map_err(failed)?;
    scanned.ok_or(("growing", "it grows faster than it can be read".to_owned()))
}

/// The beginning as text; what is not text has none that matters.
fn head_text(scanned: &Scan) -> Cow<'_, str> {
    match scanned.encoding {
        Encoding::Binary | Encoding::Unknown => Cow::Borrowed(""),
        Encoding::Utf8 => String::from_utf8_lossy(&scanned.head),
        other => decode(other, &scanned.head).map_or(Cow::Borrowed(""), |(text, _)| Cow::Owned(text)),
    }
}

fn name_only(row: &mut FileRow, by_name: ByName, status: FileStatus, reason: &str) {
    let language = if status == FileStatus::Special { None } else { derive_language(by_name, "") };
    row.language = language.map_or("", |language| language.name).to_owned();
    row.kind = if status == FileStatus::Special || row.path.ends_with('/') {
        FileKind::Other
    } else {
        derive_kind(&row.path, language)
    };
    row.status = status;
    row.reason = reason.to_owned();
}

fn blank_row(path: String, raw: Option<Vec<u8>>, entry: &Entry) -> FileRow {
    FileRow {
        path,
        raw,
        status: FileStatus::Excluded,
        reason: String::new(),
        kind: FileKind::Other,
        language: String::new(),
        size: entry.size,
        digest: None,
        lines: None,
        longest_line: None,
        encoding: Encoding::Unknown,
        executable: entry.executable,
        mtime_ns: entry.mtime_ns,
        inode: entry.inode,
    }
}

/// Whether the file was touched too shortly before the survey for its time to prove anything.
fn is_racy(row: &FileRow, now_ns: i64) -> bool {
    row.mtime_ns > now_ns.saturating_sub(RACY_NS)
}

/// Marks the time of a racy row, so that no later survey takes it over.
pub(crate) fn distrust_racy(row: &mut FileRow, now_ns: i64) {
    if row.digest.is_some() && is_racy(row, now_ns) {
        row.mtime_ns = UNTRUSTED_MTIME;
    }
}
