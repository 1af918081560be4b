//! Surfaces: where the outside gets in.

use serde::{Deserialize, Serialize};

use crate::fact::{Route, Span};
use crate::inventory::{FileKind, FileRow};

use super::signals::FileSignals;
use super::table::{FileTable, directory_of, first_line, name_of, stem_of};
use super::work;

/// What kind of way in it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceKind {
    /// A request over a network.
    Route,
    /// A message from a queue or channel.
    Message,
    /// A command line.
    Cli,
    /// Something that runs on a schedule.
    Job,
    /// A file that looks like the start of a program.
    Entry,
    /// A file that looks like the public face of a library.
    Library,
}

/// One way in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// `<path>:<line> <label>`.
    pub id: String,
    /// What kind.
    pub kind: SurfaceKind,
    /// `GET /users`, `cli export`, `main`, …
    pub label: String,
    /// File.
    pub path: String,
    /// Where in the file; the first line where the file itself is the evidence.
    pub span: Span,
    /// From 0 to 1; low where only the name says so.
    pub confidence: f32,
}

/// Ways in that analyzers saw, and weak ones that names and modes suggest; by path, line and label.
pub(super) fn derive_surfaces(table: &FileTable<'_>, signals: &[FileSignals<'_>]) -> Vec<Surface> {
    let mut surfaces = Vec::new();
    for (row, signal) in table.rows.iter().zip(signals) {
        work::tick();
        if row.kind == FileKind::Test {
            continue;
        }
        let first = surfaces.len();
        surfaces.extend(signal.routes.iter().map(|route| from_route(row, route)));
        if signal.routes.is_empty() {
            surfaces.extend(from_name(row));
        }
        surfaces[first..].sort_by(|a, b| (a.span, &a.label).cmp(&(b.span, &b.label)));
    }
    surfaces.dedup_by(|a, b| a.id == b.id);
    surfaces
}

fn from_route(row: &FileRow, route: &Route) -> Surface {
    let kind = match route.method.to_ascii_lowercase().as_str() {
        "cli" => SurfaceKind::Cli,
        "job" => SurfaceKind::Job,
        "message" => SurfaceKind::Message,
        _ => SurfaceKind::Route,
    };
    surface(row, kind, format!("{} {}", route.method, route.path), route.span, 0.9)
}

fn from_name(row: &FileRow) -> Option<Surface> {
    let (kind, confidence) = weak_kind(row)?;
    Some(surface(row, kind, name_of(&row.path).to_owned(), first_line(), confidence))
}

fn weak_kind(row: &FileRow) -> Option<(SurfaceKind, f32)> {
    let (stem, directory) = (stem_of(&row.path), name_of(directory_of(&row.path)));
    if !matches!(row.kind, FileKind::Source | FileKind::Script) || row.language.is_empty() {
        return None;
    }
    if matches!(stem, "main" | "Main" | "__main__" | "Program" | "manage" | "wsgi" | "asgi") {
        return Some((SurfaceKind::Entry, 0.5));
    }
    if row.kind == FileKind::Script || row.executable || matches!(directory, "bin" | "cmd" | "scripts") {
        return Some((SurfaceKind::Entry, 0.4));
    }
    if matches!(stem, "server" | "cli" | "app" | "lambda" | "handler" | "worker") {
        return Some((SurfaceKind::Entry, 0.3));
    }
    let public = matches!(stem, "lib" | "index" | "__init__") && matches!(directory, "" | "src" | "lib");
    public.then_some((SurfaceKind::Library, 0.3))
}

fn surface(row: &FileRow, kind: SurfaceKind, label: String, span: Span, confidence: f32) -> Surface {
    let id = format!("{}:{} {label}", row.path, span.start_line);
    Surface { id, kind, label, path: row.path.clone(), span, confidence }
}
