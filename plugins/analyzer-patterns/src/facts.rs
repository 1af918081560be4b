//! Plain-data facts: the plugin interface's records, so that the logic runs natively without a component.

/// Names and values that later versions may add.
pub type Extra = Vec<(String, String)>;

/// A place in a file. Lines and columns count from 1, columns in bytes; `end_line` is inclusive, `end_column`
/// exclusive; bytes count from 0, `end_byte` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Rule id, such as `secrets/private-key`.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Lens under which it is reported.
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
    /// Exact source text of the span.
    pub quote: String,
    /// Weakness, such as `CWE-798`.
    pub cwe: Option<String>,
    /// How to mend it.
    pub fix: Option<String>,
    /// `secret` = `true` asks the host to mask the quote; `context` = `test` says why a severity was lowered.
    pub extra: Extra,
}

/// One file asks for another file or package.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// What is imported, as written (a `use` tree is spread into its leaves).
    pub specifier: String,
    /// `import`, `from`, `require`, `include`, `use` or `module`.
    pub kind: String,
    /// Where.
    pub span: Span,
    /// `names` lists the names of a Python `from` import.
    pub extra: Extra,
}

/// Something is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Name.
    pub name: String,
    /// `function`, `class`, `type`, `module` or, in a manifest, `package`.
    pub kind: String,
    /// Whether other files can reach it.
    pub exported: bool,
    /// From the keyword to the end of the body.
    pub span: Span,
    /// More.
    pub extra: Extra,
}

/// Something defined elsewhere is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Name.
    pub name: String,
    /// Where.
    pub span: Span,
    /// More.
    pub extra: Extra,
}

/// A way into the program from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// HTTP method, `cli` or `*`.
    pub method: String,
    /// Path or name.
    pub path: String,
    /// Handler, when it is a plain name.
    pub handler: Option<String>,
    /// Where.
    pub span: Span,
    /// More.
    pub extra: Extra,
}

/// The source asks that findings be held back.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppression {
    /// Category or rule; absent means all.
    pub target: Option<String>,
    /// Why; never empty.
    pub reason: String,
    /// Where the request stands.
    pub span: Span,
    /// `line` is the line that it holds for besides its own.
    pub extra: Extra,
}

/// A number about the file, or a signal such as `sink/sql`.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name.
    pub name: String,
    /// Value; for a signal the number of places.
    pub value: f64,
    /// The first place of a signal.
    pub span: Option<Span>,
    /// More.
    pub extra: Extra,
}

/// One thing known of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// Something is wrong.
    Finding(Finding),
    /// It asks for another file.
    Import(Import),
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

/// One file as the host hands it over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Repository-relative path, `/` between parts.
    pub path: String,
    /// Language of the inventory; empty when unknown.
    pub language: String,
    /// Bytes of the file.
    pub content: Vec<u8>,
}

/// The facts of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileFacts {
    /// Repository-relative path.
    pub path: String,
    /// Language of the inventory.
    pub language: String,
    /// What was found.
    pub facts: Vec<Fact>,
}

/// One file needs another.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// File that needs.
    pub source: String,
    /// File that is needed.
    pub target: String,
    /// `import`, `include`, `module` or `package`.
    pub kind: String,
    /// From 0 to 1.
    pub confidence: f32,
    /// Evidence in the source file.
    pub span: Span,
    /// More.
    pub extra: Extra,
}

/// Why a call did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The configuration cannot be used; the text names the key and the mend.
    InvalidConfiguration(String),
    /// Not served by this analyzer.
    Unsupported(String),
}
