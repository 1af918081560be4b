//! Repositories out of nothing: TypeScript, Python, Go and Rust, with imports, routes and tests, always the same for the
//! same size and seed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::names::{DEEDS, TOPICS};
use crate::sources::{Language, SourceFile, Written};

/// Files of one module, on average.
const MODULE_FILES: usize = 18;
/// Shares of the languages, in percent.
const SHARES: [(Language, usize); 4] =
    [(Language::TypeScript, 40), (Language::Python, 25), (Language::Go, 20), (Language::Rust, 15)];
/// Shares of files by what they are, in percent.
const TESTS: u64 = 20;
const ROUTES: u64 = 10;
/// Faults that pattern rules find, in percent of the files that can have one, so that it is a tenth of all.
const FAULTS: u64 = 17;
/// Of the imports, those that stay in their module, in percent.
const OWN_IMPORTS: u64 = 80;

/// A generator of numbers that are the same everywhere (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws a number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    /// One of some.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: u64) -> bool {
        self.draw() % 100 < share
    }

    /// A length in lines: log-normal around 60, from 8 to 900.
    fn length(&mut self) -> usize {
        // The sum of twelve uniform numbers less six is as good as normal.
        let normal = (0..12).map(|_| self.draw() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        ((4.1 + 0.8 * normal).exp() as usize).clamp(8, 900)
    }
}

/// Writes a repository of so many source files, and the few files around them that every repository has.
///
/// # Errors
/// When a file cannot be written.
pub fn generate(dir: &Path, files: usize, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(files as u64));
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut left = files;
    for (at, (language, share)) in SHARES.into_iter().enumerate() {
        let count = if at + 1 == SHARES.len() { left } else { files * share / 100 };
        left -= count;
        fill(language, count, &mut random, &mut texts);
    }
    around(&mut texts);
    for (path, text) in texts {
        let file = dir.join(path);
        fs::create_dir_all(file.parent().unwrap_or(dir))?;
        fs::write(file, text)?;
    }
    Ok(())
}

/// All files of one language.
fn fill(language: Language, count: usize, random: &mut Random, texts: &mut BTreeMap<String, String>) {
    let mut elsewhere: Vec<Written> = Vec::new();
    let (mut made, mut module_number) = (0, 0);
    while made < count {
        module_number += 1;
        let module = format!("{}{module_number}", random.pick(&TOPICS));
        let size = (MODULE_FILES / 2 + random.below(MODULE_FILES)).min(count - made);
        let mut own: Vec<Written> = Vec::new();
        for number in 0..size {
            let file = plan_file(language, &module, number, &own, &elsewhere, random);
            let written = file.write(random, texts);
            own.extend(written);
        }
        language.close_module(&module, &own, texts);
        elsewhere.extend(own);
        made += size;
    }
}

fn plan_file<'a>(
    language: Language,
    module: &'a str,
    number: usize,
    own: &'a [Written],
    elsewhere: &'a [Written],
    random: &mut Random,
) -> SourceFile<'a> {
    let is_test = !own.is_empty() && random.percent(TESTS);
    let is_route = !is_test && random.percent(ROUTES);
    let mut imports: Vec<&Written> = Vec::new();
    for _ in 0..random.below(5) {
        let pool = if elsewhere.is_empty() || random.percent(OWN_IMPORTS) { own } else { elsewhere };
        if !pool.is_empty() {
            let wanted = random.pick(pool);
            if imports.iter().all(|import| import.path != wanted.path) {
                imports.push(wanted);
            }
        }
    }
    if is_test {
        imports = vec![random.pick(own)];
    }
    let stem = format!("{}_{number}", random.pick(&TOPICS));
    let deeds = 1 + random.below(6);
    let first = random.below(DEEDS.len());
    SourceFile {
        language,
        module,
        deeds: (0..deeds).map(|at| DEEDS[(first + at) % DEEDS.len()]).collect(),
        stem,
        lines: random.length(),
        imports,
        is_test,
        is_route,
        has_fault: !is_test && language.has_faults() && random.percent(FAULTS),
    }
}

fn around(texts: &mut BTreeMap<String, String>) {
    let files = [
        ("README.md", "# Generated\n\nSources out of nothing, for tests.\n"),
        ("package.json", "{\n  \"name\": \"generated\",\n  \"private\": true,\n  \"type\": \"module\"\n}\n"),
        ("go.mod", "module example.com/generated\n\ngo 1.22\n"),
        ("pyproject.toml", "[project]\nname = \"generated\"\nversion = \"0.1.0\"\n"),
        ("migrations/0001_first.sql", "CREATE TABLE first (id BIGINT PRIMARY KEY, name TEXT NOT NULL);\n"),
        ("scripts/check.sh", "#!/bin/sh\nset -eu\necho checked\n"),
    ];
    texts.extend(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(files: usize, seed: u64) -> BTreeMap<String, Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        generate(dir.path(), files, seed).unwrap();
        let mut found = BTreeMap::new();
        let mut folders = vec![dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read(path).unwrap());
                }
            }
        }
        found
    }

    #[test]
    fn the_same_size_and_seed_give_the_same_bytes_and_others_do_not() {
        let first = written(120, 7);
        assert_eq!(first, written(120, 7));
        assert_ne!(first, written(120, 8));
        let sources = first.keys().filter(|path| {
            [".ts", ".py", ".go", ".rs"].iter().any(|end| path.ends_with(end))
                && !path.ends_with("lib.rs")
                && !path.ends_with("__init__.py")
        });
        assert_eq!(sources.count(), 120);
    }
}
