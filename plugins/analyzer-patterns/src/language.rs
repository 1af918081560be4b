//! Languages as far as the analyzer tells them apart, and how each writes comments and strings.

/// A set of languages as bits.
pub type Languages = u32;

macro_rules! languages {
    ($($name:ident = $bit:expr),+ $(,)?) => { $(pub const $name: Languages = 1 << $bit;)+ };
}

languages! {
    PYTHON = 0, SCRIPT = 1, GO = 2, RUST = 3, JAVA = 4, KOTLIN = 5, PHP = 6, RUBY = 7, C = 8, CSHARP = 9, SHELL = 10,
    DOCKER = 11, YAML = 12, TERRAFORM = 13, JSON = 14, SETTINGS = 15, XML = 16, PROSE = 17, SQL = 18, CSS = 19,
    HASHED = 20, SLASHED = 21, DASHED = 22, LISP = 23, UNKNOWN = 24,
}

/// Java and Kotlin.
pub const JVM: Languages = JAVA | KOTLIN;
/// Programming languages with calls.
pub const CODE: Languages =
    PYTHON | SCRIPT | GO | RUST | JAVA | KOTLIN | PHP | RUBY | C | CSHARP | SHELL | HASHED | SLASHED | DASHED;
/// Files that configure or build.
pub const CONFIG: Languages = DOCKER | YAML | TERRAFORM | JSON | SETTINGS | XML;

/// The language of a file: the inventory's word first, the name of the file where there is none.
pub fn language_of(word: &str, path: &str) -> Languages {
    let named = by_word(word);
    if named != UNKNOWN {
        return named;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("dockerfile") || lower.starts_with("containerfile") {
        return DOCKER;
    }
    if lower.starts_with(".env")
        || matches!(lower.as_str(), ".npmrc" | ".pypirc" | ".netrc" | "credentials" | ".gitconfig" | ".editorconfig")
    {
        return SETTINGS;
    }
    match lower.rsplit_once('.') {
        Some((_, extension)) => by_extension(extension),
        None => UNKNOWN,
    }
}

fn by_word(word: &str) -> Languages {
    match word.to_ascii_lowercase().as_str() {
        "python" | "starlark" | "cython" => PYTHON,
        "javascript" | "typescript" | "jsx" | "tsx" | "javascriptreact" | "typescriptreact" | "vue" | "svelte"
        | "astro" => SCRIPT,
        "go" | "golang" => GO,
        "rust" => RUST,
        "java" => JAVA,
        "kotlin" | "scala" | "groovy" => KOTLIN,
        "php" => PHP,
        "ruby" => RUBY,
        "c" | "cpp" | "c++" | "objective-c" | "objc" | "cuda" | "c-header" | "objective-c++" => C,
        "csharp" | "c#" => CSHARP,
        "shell" | "bash" | "sh" | "zsh" | "fish" => SHELL,
        "dockerfile" | "docker" | "containerfile" => DOCKER,
        "yaml" | "yml" => YAML,
        "hcl" | "terraform" => TERRAFORM,
        "json" | "jsonc" | "json5" => JSON,
        "toml" | "ini" | "properties" | "dotenv" | "env" | "config" | "cfg" => SETTINGS,
        "xml" | "html" | "svg" => XML,
        "markdown" | "rst" | "restructuredtext" | "text" | "asciidoc" => PROSE,
        "sql" | "plsql" => SQL,
        "css" | "scss" | "less" | "sass" => CSS,
        "perl" | "r" | "julia" | "elixir" | "makefile" | "make" | "cmake" | "powershell" | "nix" | "tcl" | "nim" => {
            HASHED
        }
        "swift" | "dart" | "zig" | "protobuf" | "proto" | "solidity" | "graphql" | "wit" | "thrift" => SLASHED,
        "lua" | "haskell" | "ada" | "elm" | "vhdl" => DASHED,
        "clojure" | "lisp" | "scheme" | "emacs-lisp" | "asm" | "assembly" => LISP,
        _ => UNKNOWN,
    }
}

fn by_extension(extension: &str) -> Languages {
    match extension {
        "py" | "pyi" => PYTHON,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => SCRIPT,
        "go" => GO,
        "rs" => RUST,
        "java" => JAVA,
        "kt" | "kts" | "scala" | "groovy" | "gradle" => KOTLIN,
        "php" => PHP,
        "rb" => RUBY,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => C,
        "cs" => CSHARP,
        "sh" | "bash" | "zsh" => SHELL,
        "yml" | "yaml" => YAML,
        "tf" | "hcl" | "tfvars" => TERRAFORM,
        "json" => JSON,
        "toml" | "ini" | "cfg" | "conf" | "properties" | "env" => SETTINGS,
        "xml" | "html" | "config" => XML,
        "md" | "rst" | "txt" | "adoc" => PROSE,
        "sql" => SQL,
        "css" | "scss" | "less" => CSS,
        _ => UNKNOWN,
    }
}

/// How comments and strings are written. Each bit is one habit.
pub mod habit {
    /// `// …`
    pub const SLASH_LINE: u32 = 1;
    /// `# …`
    pub const HASH_LINE: u32 = 1 << 1;
    /// `-- …`
    pub const DASH_LINE: u32 = 1 << 2;
    /// `; …`
    pub const SEMI_LINE: u32 = 1 << 3;
    /// `/* … */`
    pub const BLOCK: u32 = 1 << 4;
    /// Block comments nest.
    pub const NESTED: u32 = 1 << 5;
    /// `"…"`
    pub const DOUBLE: u32 = 1 << 6;
    /// `'…'` is a string.
    pub const SINGLE: u32 = 1 << 7;
    /// `'x'` is a character, and a lone quote is no string.
    pub const CHARACTER: u32 = 1 << 8;
    /// Back quotes without escapes.
    pub const RAW_BACK: u32 = 1 << 9;
    /// Back quotes with `${…}`.
    pub const TEMPLATE: u32 = 1 << 10;
    /// Three quotes.
    pub const TRIPLE: u32 = 1 << 11;
    /// `r#"…"#`
    pub const HASHED_RAW: u32 = 1 << 12;
    /// `R"x(…)x"`
    pub const NAMED_RAW: u32 = 1 << 13;
    /// `@"…"` with doubled quotes.
    pub const VERBATIM: u32 = 1 << 14;
    /// A doubled quote is a quote, a backslash is a backslash.
    pub const DOUBLING: u32 = 1 << 15;
    /// Strings may hold line ends.
    pub const MULTILINE: u32 = 1 << 16;
    /// `<!-- … -->`
    pub const MARKUP: u32 = 1 << 17;
    /// `<<WORD` to a line `WORD`.
    pub const HERE: u32 = 1 << 18;
    /// `/…/` may be a regular expression.
    pub const REGEX: u32 = 1 << 19;
    /// Code only between `<?php` and `?>`.
    pub const ISLANDS: u32 = 1 << 20;
    /// A quote opens a string only where a value begins, and `#` a comment only after a blank.
    pub const VALUES: u32 = 1 << 21;
}

/// The habits of a language.
pub fn habits_of(language: Languages) -> u32 {
    use habit::*;
    match language {
        PYTHON => HASH_LINE | DOUBLE | SINGLE | TRIPLE,
        SCRIPT => SLASH_LINE | BLOCK | DOUBLE | SINGLE | TEMPLATE | REGEX,
        GO => SLASH_LINE | BLOCK | DOUBLE | CHARACTER | RAW_BACK,
        RUST => SLASH_LINE | BLOCK | NESTED | DOUBLE | CHARACTER | HASHED_RAW | MULTILINE,
        JAVA => SLASH_LINE | BLOCK | DOUBLE | CHARACTER | TRIPLE,
        KOTLIN => SLASH_LINE | BLOCK | NESTED | DOUBLE | CHARACTER | TRIPLE,
        PHP => SLASH_LINE | HASH_LINE | BLOCK | DOUBLE | SINGLE | MULTILINE | HERE | ISLANDS,
        RUBY => HASH_LINE | DOUBLE | SINGLE | MULTILINE | HERE,
        C => SLASH_LINE | BLOCK | DOUBLE | CHARACTER | NAMED_RAW,
        CSHARP => SLASH_LINE | BLOCK | DOUBLE | CHARACTER | TRIPLE | VERBATIM,
        SHELL => HASH_LINE | DOUBLE | SINGLE | MULTILINE | HERE | VALUES,
        DOCKER | YAML => HASH_LINE | DOUBLE | SINGLE | VALUES,
        TERRAFORM => HASH_LINE | SLASH_LINE | BLOCK | DOUBLE,
        JSON => DOUBLE | SLASH_LINE | BLOCK,
        SETTINGS => HASH_LINE | SEMI_LINE | DOUBLE | SINGLE | VALUES,
        XML => MARKUP,
        SQL => DASH_LINE | BLOCK | SINGLE | DOUBLING | MULTILINE,
        CSS => BLOCK | DOUBLE | SINGLE,
        HASHED => HASH_LINE | DOUBLE | SINGLE | VALUES,
        SLASHED => SLASH_LINE | BLOCK | DOUBLE | TRIPLE,
        DASHED => DASH_LINE | DOUBLE,
        LISP => SEMI_LINE | DOUBLE,
        _ => 0,
    }
}
