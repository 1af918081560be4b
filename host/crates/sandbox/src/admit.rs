//! Whether a component may become a plugin, decided from the names that it imports and exports.

use assize_core::plugin::PluginKind;

use crate::error::Refused;
use crate::limits::Limits;
use crate::names::{Names, Unreadable, read_names};

/// Generation of the plugin interface that is spoken here.
const SPOKEN: &str = "0.1.";

/// Interfaces of the plugin package that may be imported: the log, and the ones that hold only types.
const OWN_IMPORTS: [&str; 4] = ["log", "types", "facts", "effects"];

/// WASI packages that exist for guests, all of them inert.
const WASI_IMPORTS: [&str; 5] = ["cli", "io", "clocks", "random", "filesystem"];

/// Reads the bytes and says of which kind the plugin is.
///
/// # Errors
///
/// The first reason against it.
pub(crate) fn check_component(bytes: &[u8], origin: &str, limits: &Limits) -> Result<PluginKind, Refused> {
    let origin = || origin.to_owned();
    if bytes.len() > limits.component_bytes {
        return Err(Refused::TooLarge { origin: origin(), size: bytes.len(), allowed: limits.component_bytes });
    }
    let names = read_names(bytes).map_err(|unreadable| match unreadable {
        Unreadable::Empty => Refused::Empty { origin: origin() },
        Unreadable::NotWasm(found) => Refused::NotAComponent { origin: origin(), found },
        Unreadable::CoreModule => Refused::CoreModule { origin: origin() },
        Unreadable::Damaged(problem) => Refused::Damaged { origin: origin(), problem: problem.to_owned() },
    })?;
    check_names(&names, &origin())
}

fn check_names(names: &Names, origin: &str) -> Result<PluginKind, Refused> {
    let kind = check_exports(&names.exports, origin)?;
    for import in &names.imports {
        check_import(import, origin)?;
    }
    Ok(kind)
}

fn check_exports(exports: &[String], origin: &str) -> Result<PluginKind, Refused> {
    let origin = || origin.to_owned();
    let own: Vec<Interface<'_>> = exports
        .iter()
        .filter_map(|name| parse(name))
        .filter(|interface| interface.package == "assize:plugin")
        .collect();
    let exported = |name: &str| own.iter().any(|interface| interface.name == name && interface.is_spoken());
    let kinds: Vec<(&str, PluginKind)> = [
        ("provider", PluginKind::Provider),
        ("rate-limits", PluginKind::RateLimit),
        ("analyzer", PluginKind::Analyzer),
    ]
    .into_iter()
    .filter(|(name, _)| exported(name))
    .collect();
    match kinds[..] {
        [(_, kind)] if exported("plugin") => Ok(kind),
        [_] => Err(Refused::NoDescription { origin: origin() }),
        [] => match own.iter().find(|interface| !interface.is_spoken()) {
            Some(other) => Err(Refused::OtherVersion { origin: origin(), found: other.version.to_owned() }),
            None => Err(Refused::WrongWorld { origin: origin() }),
        },
        _ => {
            let kinds = kinds.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" and ");
            Err(Refused::ManyKinds { origin: origin(), kinds })
        }
    }
}

fn check_import(import: &str, origin: &str) -> Result<(), Refused> {
    let refused = || Refused::Import { origin: origin.to_owned(), import: import.to_owned() };
    let interface = parse(import).ok_or_else(refused)?;
    if interface.package == "assize:plugin" {
        if !interface.is_spoken() {
            return Err(Refused::OtherVersion { origin: origin.to_owned(), found: interface.version.to_owned() });
        }
        return if OWN_IMPORTS.contains(&interface.name) { Ok(()) } else { Err(refused()) };
    }
    let wasi = interface.package.strip_prefix("wasi:").is_some_and(|package| WASI_IMPORTS.contains(&package));
    if wasi && interface.version.starts_with("0.2.") { Ok(()) } else { Err(refused()) }
}

/// `package/name@version`.
struct Interface<'a> {
    package: &'a str,
    name: &'a str,
    version: &'a str,
}

impl Interface<'_> {
    fn is_spoken(&self) -> bool {
        self.version
            .strip_prefix(SPOKEN)
            .is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

fn parse(name: &str) -> Option<Interface<'_>> {
    let (package, rest) = name.split_once('/')?;
    let (name, version) = rest.split_once('@').unwrap_or((rest, "without version"));
    Some(Interface { package, name, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(imports: &[&str], exports: &[&str]) -> Result<PluginKind, String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names { imports: owned(imports), exports: owned(exports) };
        check_names(&names, "x.wasm").map_err(|refused| refused.to_string())
    }

    const ANALYZER: [&str; 2] = ["assize:plugin/plugin@0.1.0", "assize:plugin/analyzer@0.1.0"];

    #[test]
    fn a_plugin_is_known_by_what_it_exports() {
        for (name, kind) in [
            ("assize:plugin/provider@0.1.0", PluginKind::Provider),
            ("assize:plugin/rate-limits@0.1.7", PluginKind::RateLimit),
            ("assize:plugin/analyzer@0.1.0", PluginKind::Analyzer),
        ] {
            assert_eq!(verdict(&[], &["assize:plugin/plugin@0.1.0", name]), Ok(kind));
        }
    }

    #[test]
    fn what_standard_libraries_import_is_let_in() {
        let imports = [
            "assize:plugin/log@0.1.0",
            "assize:plugin/types@0.1.0",
            "wasi:cli/stderr@0.2.6",
            "wasi:io/streams@0.2.0",
            "wasi:clocks/monotonic-clock@0.2.3",
            "wasi:random/random@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
        ];
        assert_eq!(verdict(&imports, &ANALYZER), Ok(PluginKind::Analyzer));
    }

    #[test]
    fn any_other_import_is_refused_by_its_name() {
        for import in [
            "wasi:sockets/tcp@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:cli/stderr@0.3.0",
            "wasi:cli-evil/stderr@0.2.0",
            "assize:plugin/provider@0.1.0",
            "other:host/exec@1.0.0",
            "plain",
        ] {
            let line = verdict(&[import], &ANALYZER).expect_err(import);
            assert!(line.starts_with(&format!("x.wasm: imports `{import}`")), "{line}");
        }
    }

    #[test]
    fn another_generation_is_named() {
        let exports = ["assize:plugin/plugin@0.2.0", "assize:plugin/analyzer@0.2.0"];
        let line = "x.wasm: built for assize:plugin 0.2.0; this assize speaks 0.1.x";
        assert_eq!(verdict(&[], &exports), Err(line.to_owned()));
        assert_eq!(verdict(&["assize:plugin/log@0.2.0"], &ANALYZER), Err(line.to_owned()));
    }

    #[test]
    fn a_plugin_of_two_generations_is_taken_by_the_one_that_is_spoken() {
        let exports = [&ANALYZER[..], &["assize:plugin/plugin@0.2.0", "assize:plugin/analyzer@0.2.0"]].concat();
        assert_eq!(verdict(&[], &exports), Ok(PluginKind::Analyzer));
    }

    #[test]
    fn none_two_or_undescribed_kinds_are_refused() {
        let wrong = |exports: &[&str]| verdict(&[], exports).expect_err("refused");
        assert!(wrong(&["wasi:cli/run@0.2.0"]).contains("not a plugin"));
        assert!(wrong(&["assize:plugin/analyzer@0.1.0"]).contains("cannot describe itself"));
        let two = [&ANALYZER[..], &["assize:plugin/provider@0.1.0"]].concat();
        assert!(wrong(&two).contains("exports provider and analyzer"));
    }
}
