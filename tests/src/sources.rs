//! One generated source file in each language.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::names::{TOPICS, capital};
use crate::repository::Random;

/// A language that files are generated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    TypeScript,
    Python,
    Go,
    Rust,
}

/// A file that others may import.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) path: String,
    module: String,
    stem: String,
    functions: Vec<String>,
}

/// A file that is to be written.
pub(crate) struct SourceFile<'a> {
    pub(crate) language: Language,
    pub(crate) module: &'a str,
    pub(crate) stem: String,
    pub(crate) deeds: Vec<&'static str>,
    pub(crate) lines: usize,
    pub(crate) imports: Vec<&'a Written>,
    pub(crate) is_test: bool,
    pub(crate) is_route: bool,
    pub(crate) has_fault: bool,
}

impl Language {
    /// Whether the rules know a fault that fits anywhere.
    pub(crate) fn has_faults(self) -> bool {
        matches!(self, Self::TypeScript | Self::Python)
    }

    /// Adds what makes a folder a module of the language.
    pub(crate) fn close_module(self, module: &str, files: &[Written], texts: &mut BTreeMap<String, String>) {
        match self {
            Self::TypeScript | Self::Go => {}
            Self::Python => {
                texts.insert(format!("apps/{module}/__init__.py"), String::new());
            }
            Self::Rust => {
                let mods: String = files.iter().map(|file| format!("pub mod {};\n", file.stem)).collect();
                let manifest = format!("[package]\nname = \"{module}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
                texts.insert(format!("crates/{module}/src/lib.rs"), mods);
                texts.insert(format!("crates/{module}/Cargo.toml"), manifest);
            }
        }
    }
}

impl SourceFile<'_> {
    /// Writes it; gives it to be imported, unless it is a test.
    pub(crate) fn write(&self, random: &mut Random, texts: &mut BTreeMap<String, String>) -> Option<Written> {
        let mut text = String::new();
        self.head(&mut text);
        if self.is_test {
            self.cases(&mut text);
        } else {
            if self.is_route {
                self.routes(&mut text);
            }
            for deed in &self.deeds {
                self.function(deed, random, &mut text);
            }
        }
        texts.insert(self.path(), text);
        (!self.is_test).then(|| Written {
            path: self.path(),
            module: self.module.to_owned(),
            stem: self.stem.clone(),
            functions: self.deeds.iter().map(|deed| self.name(deed)).collect(),
        })
    }

    fn path(&self) -> String {
        let (module, stem) = (self.module, &self.stem);
        let folder = if self.is_route { "routes" } else { "core" };
        match (self.language, self.is_test) {
            (Language::TypeScript, false) => format!("services/{module}/src/{folder}/{stem}.ts"),
            (Language::TypeScript, true) => format!("services/{module}/tests/{stem}.test.ts"),
            (Language::Python, false) => format!("apps/{module}/{folder}/{stem}.py"),
            (Language::Python, true) => format!("apps/{module}/tests/test_{stem}.py"),
            (Language::Go, false) => format!("go/{module}/{stem}.go"),
            (Language::Go, true) => format!("go/{module}/{stem}_test.go"),
            (Language::Rust, false) => format!("crates/{module}/src/{stem}.rs"),
            (Language::Rust, true) => format!("crates/{module}/tests/{stem}.rs"),
        }
    }

    fn name(&self, deed: &str) -> String {
        match self.language {
            Language::TypeScript => format!("{deed}{}", self.stem.split('_').map(capital).collect::<String>()),
            Language::Go => format!("{}{}", capital(deed), self.stem.split('_').map(capital).collect::<String>()),
            Language::Python | Language::Rust => format!("{deed}_{}", self.stem),
        }
    }

    fn head(&self, text: &mut String) {
        if self.language == Language::Go {
            let _ = writeln!(text, "package {}\n", self.module);
            text.push_str(if self.is_test { "import \"testing\"\n\n" } else { "import \"errors\"\n" });
        }
        if self.language == Language::Python && self.has_fault {
            text.push_str("import os\n");
        }
        for import in &self.imports {
            let Some(function) = import.functions.first() else { continue };
            let own = import.module == self.module;
            let _ = match self.language {
                Language::TypeScript => {
                    let path = import.path.trim_end_matches(".ts");
                    let up = "../".repeat(self.path().matches('/').count());
                    writeln!(text, "import {{ {function} }} from \"{up}{path}.js\";")
                }
                Language::Python => {
                    writeln!(text, "from {} import {function}", import.path.trim_end_matches(".py").replace('/', "."))
                }
                Language::Go if own => Ok(()),
                Language::Go => writeln!(text, "import \"example.com/generated/go/{}\"", import.module),
                Language::Rust => {
                    let root = if own && !self.is_test { "crate" } else { &import.module };
                    writeln!(text, "use {root}::{}::{function};", import.stem)
                }
            };
        }
        text.push('\n');
    }

    /// How the first function of an import is called.
    fn call(&self, import: &Written) -> String {
        let function = import.functions.first().map(String::as_str).unwrap_or_default();
        match self.language {
            Language::Go if import.module != self.module => format!("{}.{function}", import.module),
            _ => function.to_owned(),
        }
    }

    fn routes(&self, text: &mut String) {
        let (module, stem) = (self.module, &self.stem);
        let name = self.name(self.deeds[0]);
        let _ = match self.language {
            Language::TypeScript => writeln!(
                text,
                "import express from \"express\";\n\nexport const router = express.Router();\n\nrouter.get(\"/{module}/{stem}\", (req, res) => {{\n  res.json({{ value: {name}(String(req.query.q), 3) }});\n}});\n"
            ),
            Language::Python => writeln!(
                text,
                "from fastapi import APIRouter\n\nrouter = APIRouter()\n\n\n@router.get(\"/{module}/{stem}\")\ndef route_{stem}(value: str):\n    return {{\"value\": {name}(value, 3)}}\n\n"
            ),
            Language::Go => writeln!(
                text,
                "import \"net/http\"\n\nfunc Register{0}(mux *http.ServeMux) {{\n\tmux.HandleFunc(\"/{module}/{stem}\", func(w http.ResponseWriter, r *http.Request) {{\n\t\t_, _ = {name}(r.URL.Path, 3)\n\t}})\n}}\n",
                capital(stem)
            ),
            Language::Rust => writeln!(
                text,
                "use axum::{{Router, routing::get}};\n\npub fn router() -> Router {{\n    Router::new().route(\"/{module}/{stem}\", get(|| async {{ \"{name}\" }}))\n}}\n"
            ),
        };
    }

    fn function(&self, deed: &str, random: &mut Random, text: &mut String) {
        let name = self.name(deed);
        let topic = random.pick(&TOPICS);
        let _ = match self.language {
            Language::TypeScript => {
                writeln!(
                    text,
                    "/** Does it to the {topic}. */\nexport function {name}(input: string, most = 9): number {{"
                )
            }
            Language::Python => {
                writeln!(text, "def {name}(value: str, most: int = 9) -> int:\n    \"\"\"Do it to the {topic}.\"\"\"")
            }
            Language::Go => {
                writeln!(text, "// {name} does it to the {topic}.\nfunc {name}(value string, most int) (int, error) {{")
            }
            Language::Rust => writeln!(
                text,
                "/// Does it to the {topic}.\npub fn {name}(value: &str, most: usize) -> Result<usize, String> {{\n    let mut sum = most;"
            ),
        };
        if self.has_fault && deed == self.deeds[0] {
            text.push_str(match self.language {
                Language::TypeScript => "  eval(input);\n",
                _ => "    os.system(value)\n",
            });
        }
        let steps = (self.lines / self.deeds.len()).saturating_sub(5).max(2);
        for step in 0..steps {
            self.step(step, random, text);
        }
        text.push_str(match self.language {
            Language::TypeScript => "  return input.length + most;\n}\n\n",
            Language::Python => "    return len(value) + most\n\n\n",
            Language::Go => "\treturn most, nil\n}\n\n",
            Language::Rust => "    Ok(sum)\n}\n\n",
        });
    }

    fn step(&self, step: usize, random: &mut Random, text: &mut String) {
        let (topic, number) = (*random.pick(&TOPICS), 2 + random.below(80));
        let callee = if self.imports.is_empty() { None } else { Some(*random.pick(&self.imports)) };
        let call = callee.filter(|_| random.percent(25)).map(|import| self.call(import));
        let _ = match (self.language, call, step % 3) {
            (Language::TypeScript, Some(call), _) => {
                writeln!(text, "  const v{step} = {call}(input + \"{topic}\", most);")
            }
            (Language::TypeScript, None, 0) => writeln!(text, "  const v{step} = input.length * {number} + most;"),
            (Language::TypeScript, None, 1) => {
                writeln!(text, "  if (most > {number}) {{ throw new Error(\"too many: {topic}\"); }}")
            }
            (Language::TypeScript, None, _) => writeln!(text, "  // The {topic} comes first."),
            (Language::Python, Some(call), _) => writeln!(text, "    v{step} = {call}(value + \"{topic}\", most)"),
            (Language::Python, None, 0) => writeln!(text, "    v{step} = len(value) * {number} + most"),
            (Language::Python, None, 1) => {
                writeln!(text, "    if most > {number}:\n        raise ValueError(\"too many: {topic}\")")
            }
            (Language::Python, None, _) => writeln!(text, "    # The {topic} comes first."),
            (Language::Go, Some(call), _) => {
                writeln!(text, "\tif n, err := {call}(value+\"{topic}\", most); err == nil {{\n\t\tmost += n\n\t}}")
            }
            (Language::Go, None, 0) => writeln!(text, "\tmost += len(value) * {number}"),
            (Language::Go, None, 1) => {
                writeln!(text, "\tif most > {number} {{\n\t\treturn 0, errors.New(\"too many: {topic}\")\n\t}}")
            }
            (Language::Go, None, _) => writeln!(text, "\t// The {topic} comes first."),
            (Language::Rust, Some(call), _) => writeln!(text, "    sum += {call}(value, most)?;"),
            (Language::Rust, None, 0) => writeln!(text, "    sum += value.len() * {number};"),
            (Language::Rust, None, 1) => {
                writeln!(
                    text,
                    "    if sum > {number}000 {{\n        return Err(\"too many: {topic}\".to_owned());\n    }}"
                )
            }
            (Language::Rust, None, _) => writeln!(text, "    // The {topic} comes first."),
        };
    }

    fn cases(&self, text: &mut String) {
        let Some(import) = self.imports.first() else { return };
        let call = self.call(import);
        for case in 0..(self.lines / 5).max(1) {
            let _ = match self.language {
                Language::TypeScript => {
                    writeln!(text, "test(\"case {case}\", () => {{\n  assert.ok({call}(\"a{case}\", 2) > 0);\n}});\n")
                }
                Language::Python => {
                    writeln!(text, "def test_case_{case}():\n    assert {call}(\"a{case}\", 2) > 0\n\n")
                }
                Language::Go => writeln!(
                    text,
                    "func TestCase{case}{0}(t *testing.T) {{\n\tif _, err := {call}(\"a{case}\", 2); err != nil {{\n\t\tt.Fatal(err)\n\t}}\n}}\n",
                    capital(&self.stem)
                ),
                Language::Rust => {
                    writeln!(text, "#[test]\nfn case_{case}() {{\n    assert!({call}(\"a{case}\", 2).is_ok());\n}}\n")
                }
            };
        }
    }
}
