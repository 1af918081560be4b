//! Facts of files as analyzers give them; the plain-data mirror of the plugin interface's `facts`.

use serde::{Deserialize, Serialize};

/// Names and values that later versions may add; kept, not understood.
pub type Extra = Vec<(String, String)>;

/// A place in a file. Lines and columns count from 1, columns in bytes; `end_line` inclusive, `end_column` exclusive;
/// bytes count from 0, `end_byte` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First line.
    pub start_line: u32,
    /// First column.
    pub start_column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last.
    pub end_column: u32,
    /// First byte.
    pub start_byte: u64,
    /// Byte after the last.
    pub end_byte: u64,
}

/// Something wrong at a place, as an analyzer's rule reports it. Words are those of the interface; nothing is checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleFinding {
    /// Rule id, such as `secrets/private-key`.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Lens.
    pub lens: String,
    /// Kebab-case category.
    pub category: String,
    /// `critical` … `info`.
    pub severity: String,
    /// `high`, `medium` or `low`.
    pub confidence: String,
    /// What is wrong and why it matters.
    pub summary: String,
    /// Where.
    pub span: Span,
    /// Exact source text.
    pub quote: String,
    /// Weakness, such as `CWE-798`.
    pub cwe: Option<String>,
    /// How to mend it.
    pub fix: Option<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// One file asks for another file or package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportFact {
    /// What is imported, as written.
    pub specifier: String,
    /// Word of the language.
    pub kind: String,
    /// Where.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Something is defined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Name.
    pub name: String,
    /// `function`, `class`, …
    pub kind: String,
    /// Whether other files can reach it.
    pub exported: bool,
    /// Where.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Something defined elsewhere is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Name.
    pub name: String,
    /// Where.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// A way into the program from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// HTTP method, or `cli`, `job`, `message`, `*`.
    pub method: String,
    /// Path or name.
    pub path: String,
    /// Handler, when it is plain.
    pub handler: Option<String>,
    /// Where.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// The source asks that findings be held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suppression {
    /// Category or rule; absent means all.
    pub target: Option<String>,
    /// Why.
    pub reason: String,
    /// Where.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// A number about the file, or a signal such as `sink/sql`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Where, when it has a place.
    pub span: Option<Span>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// One thing that an analyzer knows of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// Something is wrong.
    Finding(RuleFinding),
    /// It asks for another file.
    Import(ImportFact),
    /// It defines something.
    Definition(Definition),
    /// It uses something.
    Reference(Reference),
    /// It lets the outside in.
    Route(Route),
    /// It asks for silence.
    Suppression(Suppression),
    /// A number or signal.
    Metric(Metric),
}

/// A finding with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Analyzer or tool.
    pub analyzer: String,
    /// Repository-relative path.
    pub path: String,
    /// The finding.
    pub finding: RuleFinding,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// The facts of one file from one analyzer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Repository-relative path.
    pub path: String,
    /// Language of the inventory.
    pub language: String,
    /// Name of the analyzer.
    pub analyzer: String,
    /// What it found.
    pub facts: Vec<Fact>,
}

/// One file needs another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// File that needs.
    pub source: String,
    /// File that is needed.
    pub target: String,
    /// `import`, `call`, `test-of`, …
    pub kind: String,
    /// From 0 to 1.
    pub confidence: f32,
    /// Evidence in the source file.
    pub span: Span,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}
