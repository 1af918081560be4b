//! Flags, files and environment made into one `Settings`, with the origin of everything that permission depends on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assize_core::grant::NamedGrant;
use assize_core::lens::Lens;
use assize_core::plan::Depth;
use assize_core::result::ReviewerKind;
use clap::Args;

use super::files::approval_digest;
use super::{ConfigError, Environment, RepositoryFile, UserFile};
use crate::user_key::UserKey;

/// Which audit is meant.
#[derive(Args, Clone, Debug, Default)]
pub struct PlaceFlags {
    /// Repository to audit
    #[arg(default_value = ".", value_name = "PATH")]
    pub root: PathBuf,
    /// Directory of the audit's state, instead of .assize in the repository
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Take over a state directory that another user made, or that was moved
    #[arg(long)]
    pub adopt: bool,
}

impl PlaceFlags {
    /// The flags of a run on this audit, all others as they are when nobody gives them.
    pub fn alone(&self) -> RunFlags {
        RunFlags { place: self.clone(), ..RunFlags::default() }
    }
}

/// What every command takes that plans or reviews, or says how far that has come.
#[derive(Args, Clone, Debug, Default)]
pub struct RunFlags {
    /// Which audit.
    #[command(flatten)]
    pub place: PlaceFlags,
    /// Providers or lanes to review with, comma-separated in the order in which they are preferred, or auto
    #[arg(long, value_name = "NAMES")]
    pub provider: Option<String>,
    /// Model to ask for
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Component to load; it adds a provider, rate-limit reader or analyzer, or replaces the one of its name
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Permission for this run: PLUGIN:program=NAME, PLUGIN:host=NAME or PLUGIN:secret=NAME
    #[arg(long = "grant", value_name = "GRANT")]
    pub grants: Vec<NamedGrant>,
    /// Approve a wish of the repository's assize.toml by the digest that the refusal printed
    #[arg(long = "approve", value_name = "DIGEST")]
    pub approve: Vec<String>,
    /// Lenses to look through, comma-separated
    #[arg(long, value_delimiter = ',', value_parser = parse_lens, value_name = "LENS")]
    pub lens: Vec<Lens>,
    /// How much to look at: quick, standard or deep
    #[arg(long, value_parser = parse_depth, value_name = "DEPTH")]
    pub depth: Option<Depth>,
    /// Glob of paths to leave out
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Do not honour .gitignore and .assizeignore
    #[arg(long)]
    pub no_ignore: bool,
    /// Launches at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub workers: Option<u32>,
    /// Launches of this run at most; it then pauses, and another run goes on
    #[arg(long, value_name = "N")]
    pub max_launches: Option<u32>,
    /// Tokens of this run at most, in and out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget_tokens: Option<u64>,
    /// US dollars of this run at most
    #[arg(long, value_name = "USD", value_parser = parse_usd)]
    pub budget_usd: Option<u64>,
    /// End of this run: a duration such as 90m, or an instant such as 2027-01-31T18:00:00Z; it then pauses
    #[arg(long, value_name = "WHEN", value_parser = parse_deadline)]
    pub deadline: Option<Deadline>,
    /// Let launched programs work in the repository itself instead of a copy
    #[arg(long)]
    pub no_snapshot: bool,
    /// Ask each provider for one tiny answer before any task is launched
    #[arg(long)]
    pub ping: bool,
    /// Seconds that one launch may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Tries of a task before it is parked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub attempts: Option<u32>,
    /// Reviewers that count for coverage, comma-separated: agent, model, rules, imported, person
    #[arg(long, value_delimiter = ',', value_parser = parse_reviewer, value_name = "KIND")]
    pub require: Vec<ReviewerKind>,
    /// Do not look at findings a second time
    #[arg(long)]
    pub no_deepening: bool,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody; it is the default.
    Default,
    /// The repository, which is untrusted.
    Repository,
    /// The user's configuration.
    User,
    /// A flag.
    Flag,
}

/// Which provider is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderWish {
    /// Name, or `auto`.
    pub name: String,
    /// Who said it.
    pub origin: Origin,
}

/// A provider's configuration section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The section as JSON.
    pub json: serde_json::Value,
    /// Who wrote it.
    pub origin: Origin,
}

/// Everything that a run depends on.
#[derive(Clone)]
pub struct Settings {
    /// Repository, absolute.
    pub root: PathBuf,
    /// State directory, absolute.
    pub state_dir: PathBuf,
    /// Provider that is wanted.
    pub provider: ProviderWish,
    /// Model that is wanted.
    pub model: Option<String>,
    /// Providers' sections by provider name.
    pub providers: BTreeMap<String, Section>,
    /// Analyzers' sections by plugin name.
    pub analyzers: BTreeMap<String, serde_json::Value>,
    /// Components to load beside the built-in ones.
    pub plugins: Vec<PathBuf>,
    /// Grants for this run.
    pub flag_grants: Vec<NamedGrant>,
    /// The user's file, for the grants in it.
    pub user: UserFile,
    /// Lenses; none means all that apply.
    pub lenses: Option<Vec<Lens>>,
    /// How much.
    pub depth: Depth,
    /// Globs.
    pub exclude: Vec<String>,
    /// Whether ignore files are not honoured.
    pub no_ignore: bool,
    /// Launches at once, when somebody said so.
    pub workers: Option<u32>,
    /// Launches at most.
    pub max_launches: Option<u32>,
    /// Tokens at most.
    pub budget_tokens: Option<u64>,
    /// Millionths of a US dollar at most.
    pub budget_micro_usd: Option<u64>,
    /// When nothing more is launched.
    pub deadline: Option<Deadline>,
    /// Whether launched programs work in a copy of the repository.
    pub snapshot: bool,
    /// Whether each provider is asked for one tiny answer first.
    pub ping: bool,
    /// Milliseconds of one launch.
    pub timeout_ms: u64,
    /// Tries of a task.
    pub attempts: u32,
    /// Reviewers that count; empty means all.
    pub require: Vec<ReviewerKind>,
    /// Whether findings are looked at a second time.
    pub deepening: bool,
    /// What the repository's own file narrowed, one line each: the report says it.
    pub repository_wishes: Vec<String>,
    /// The environment.
    pub environment: Environment,
    /// The user's secret; none where there is no private place for it.
    pub user_key: Option<UserKey>,
    /// Whether a state directory that bears no seal of this user and place is taken over.
    pub adopt: bool,
    approved: Vec<String>,
}

/// Half an hour: agent CLIs on large packets were seen to need ten minutes and more.
const DEFAULT_TIMEOUT_S: u64 = 30 * 60;
const DEFAULT_ATTEMPTS: u32 = 3;

impl Settings {
    /// Puts everything together. Flags win over the repository's file where that one may speak, and that over the user's.
    pub fn gather(flags: &RunFlags, environment: Environment) -> Result<Self, ConfigError> {
        let root = absolute(&flags.place.root, "PATH")?;
        if !root.is_dir() {
            let message = format!("{} is not a directory; name the directory that contains it", root.display());
            return Err(value_error("PATH", message));
        }
        let user = match environment.user_config() {
            Some(path) => UserFile::read(&path)?,
            None => UserFile::default(),
        };
        let repository = RepositoryFile::read(&root)?;
        let place = root.join("assize.toml").display().to_string();
        let lenses = match (&flags.lens[..], &repository.lens, &user.lens) {
            ([], Some(words), _) => Some(lenses_of(words, &format!("{place}: lens"))?),
            ([], None, Some(words)) => Some(lenses_of(words, "user configuration: lens")?),
            ([], None, None) => None,
            (given, _, _) => Some(given.to_vec()),
        };
        let depth_word = repository.depth.as_deref().or(user.depth.as_deref());
        let depth = match (flags.depth, depth_word) {
            (Some(depth), _) => depth,
            (None, Some(word)) => {
                parse_depth(word).map_err(|message| value_error(&format!("{place}: depth"), message))?
            }
            (None, None) => Depth::Standard,
        };
        let mut approved = flags.approve.clone();
        approved.extend(user.approve.iter().cloned());
        let mut plugins = user.plugins.clone();
        for plugin in &flags.plugins {
            plugins.push(absolute(plugin, "--plugin")?);
        }
        let state_dir = match &flags.place.state_dir {
            Some(dir) => resolve(dir).map_err(|source| ConfigError::Read { path: dir.clone(), source })?,
            None => root.join(".assize"),
        };
        Ok(Self {
            provider: provider_wish(flags, &repository, &user),
            model: flags.model.clone(),
            providers: sections(&repository, &user),
            analyzers: analyzer_sections(&repository, &user),
            plugins,
            flag_grants: flags.grants.clone(),
            lenses,
            depth,
            exclude: [&flags.exclude[..], &repository.exclude, &user.exclude].concat(),
            no_ignore: flags.no_ignore || repository.no_ignore.or(user.no_ignore).unwrap_or(false),
            workers: flags.workers.or(user.workers),
            max_launches: flags.max_launches.or(user.max_launches),
            budget_tokens: flags.budget_tokens.or(user.budget_tokens),
            budget_micro_usd: match (flags.budget_usd, user.budget_usd) {
                (Some(micro), _) => Some(micro),
                (None, Some(usd)) => Some(
                    parse_usd(&usd.to_string())
                        .map_err(|message| value_error("user configuration: budget_usd", message))?,
                ),
                (None, None) => None,
            },
            deadline: flags.deadline,
            snapshot: !flags.no_snapshot,
            ping: flags.ping,
            timeout_ms: flags.timeout.or(user.timeout).unwrap_or(DEFAULT_TIMEOUT_S) * 1_000,
            attempts: flags.attempts.unwrap_or(DEFAULT_ATTEMPTS),
            require: flags.require.clone(),
            deepening: !flags.no_deepening,
            repository_wishes: wishes_of(&repository),
            user_key: environment.state_dir().and_then(|dir| UserKey::read_or_make(&dir)),
            adopt: flags.place.adopt,
            environment,
            approved,
            user,
            state_dir,
            root,
        })
    }

    /// A provider's section, when it may be used. What a repository wrote counts only when the user has approved exactly
    /// that content, because arguments and addresses are as powerful as the program that they are given to.
    pub fn section(&self, provider: &str) -> Result<serde_json::Value, ConfigError> {
        let Some(section) = self.providers.get(provider) else {
            return Ok(serde_json::Value::Object(serde_json::Map::new()));
        };
        if section.origin == Origin::Repository {
            let digest = approval_digest(provider, &section.json);
            if !self.approved.contains(&digest) {
                return Err(ConfigError::NotApproved { what: format!("[providers.{provider}]"), digest });
            }
        }
        Ok(section.json.clone())
    }

    /// The lanes and providers that are wanted, in the order in which they are preferred.
    pub fn wanted_names(&self) -> impl Iterator<Item = &str> {
        self.provider.name.split(',').map(str::trim).filter(|name| !name.is_empty())
    }

    /// Every provider that a run with these settings can come to ask; `auto` may take any that is configured.
    pub fn reachable_providers(&self) -> Vec<String> {
        let lane_provider = |name: &str| {
            let table = self.user.lanes.get(name).and_then(|lane| lane.provider.clone());
            table.unwrap_or_else(|| name.to_owned())
        };
        let mut names: Vec<String> = self.wanted_names().filter(|name| *name != "auto").map(lane_provider).collect();
        if self.wanted_names().any(|name| name == "auto") {
            names.extend(self.providers.keys().cloned());
            names.push("rules".to_owned());
        }
        names
    }

    /// Whether the user, not the repository, has configured or named this provider, or approved the repository's wish.
    pub fn is_users_choice(&self, provider: &str) -> bool {
        let named = self.provider.origin != Origin::Repository && self.wanted_names().any(|name| name == provider);
        named || self.section(provider).is_ok() && self.providers.contains_key(provider)
    }
}

fn provider_wish(flags: &RunFlags, repository: &RepositoryFile, user: &UserFile) -> ProviderWish {
    let wishes =
        [(&flags.provider, Origin::Flag), (&repository.provider, Origin::Repository), (&user.provider, Origin::User)];
    wishes
        .into_iter()
        .find_map(|(name, origin)| Some(ProviderWish { name: name.clone()?, origin }))
        .unwrap_or(ProviderWish { name: "auto".to_owned(), origin: Origin::Default })
}

/// The user's section stands where there is one: a repository must not change how a trusted program is called.
fn sections(repository: &RepositoryFile, user: &UserFile) -> BTreeMap<String, Section> {
    let mut all = BTreeMap::new();
    for (tables, origin) in [(&repository.providers, Origin::Repository), (&user.providers, Origin::User)] {
        for (name, table) in tables {
            all.insert(name.clone(), Section { json: json_of(table), origin });
        }
    }
    all
}

/// A repository may narrow what is looked at, but not in silence.
fn wishes_of(repository: &RepositoryFile) -> Vec<String> {
    let mut wishes = Vec::new();
    if !repository.exclude.is_empty() {
        wishes.push(format!("the repository's assize.toml leaves out {}", repository.exclude.join(", ")));
    }
    if let Some(lenses) = &repository.lens {
        wishes.push(format!("the repository's assize.toml restricts the lenses to {}", lenses.join(", ")));
    }
    if let Some(depth) = &repository.depth {
        wishes.push(format!("the repository's assize.toml sets the depth to {depth}"));
    }
    for (analyzer, section) in &repository.analyzers {
        wishes.push(format!("the repository's assize.toml configures {analyzer}: {}", json_of(section)));
    }
    wishes
}

fn analyzer_sections(repository: &RepositoryFile, user: &UserFile) -> BTreeMap<String, serde_json::Value> {
    // The user's section stands, as with providers.
    let both = repository.analyzers.iter().chain(&user.analyzers);
    both.map(|(name, table)| (name.clone(), json_of(table))).collect()
}

fn json_of(table: &toml::Table) -> serde_json::Value {
    serde_json::to_value(table).unwrap_or_default()
}

fn absolute(path: &Path, place: &str) -> Result<PathBuf, ConfigError> {
    std::fs::canonicalize(path).map_err(|error| value_error(place, format!("cannot find {}: {error}", path.display())))
}

/// A path as the system knows it, however it is spelt: what exists of it is resolved, the rest is appended.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut rest = PathBuf::new();
    let mut known: &Path = &path;
    loop {
        match known.canonicalize() {
            Ok(real) if rest.as_os_str().is_empty() => return Ok(real),
            Ok(real) => return Ok(real.join(rest)),
            Err(error) => {
                let (Some(name), Some(above)) = (known.file_name(), known.parent()) else { return Err(error) };
                rest = if rest.as_os_str().is_empty() { name.into() } else { Path::new(name).join(&rest) };
                known = above;
            }
        }
    }
}

fn value_error(place: &str, message: String) -> ConfigError {
    ConfigError::Value { place: place.to_owned(), message }
}

fn lenses_of(words: &[String], place: &str) -> Result<Vec<Lens>, ConfigError> {
    words.iter().map(|word| parse_lens(word).map_err(|message| value_error(place, message))).collect()
}

/// When a run ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Milliseconds after its start.
    After(u64),
    /// Milliseconds since the Unix epoch.
    At(u64),
}

impl Deadline {
    /// The instant, for a run that starts now. Milliseconds since the Unix epoch.
    pub fn instant_ms(self, now_ms: u64) -> u64 {
        match self {
            Deadline::After(ms) => now_ms.saturating_add(ms),
            Deadline::At(ms) => ms,
        }
    }
}

fn parse_deadline(text: &str) -> Result<Deadline, String> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        let ms = u64::try_from(instant.as_millisecond()).map_err(|_| format!("{text} is before 1970"))?;
        return Ok(Deadline::At(ms));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| {
        format!("{text:?} is neither a duration such as 90m or 2h30m nor an instant such as 2027-01-31T18:00:00Z")
    })?;
    match u64::try_from(span.as_millis()) {
        Ok(ms) if ms > 0 => Ok(Deadline::After(ms)),
        _ => Err(format!("{text} leaves no time")),
    }
}

/// US dollars as millionths, so that sums are exact.
fn parse_usd(text: &str) -> Result<u64, String> {
    let usd: f64 = text.parse().map_err(|_| format!("{text:?} is no number of US dollars"))?;
    if !usd.is_finite() || usd <= 0.0 || usd > 1e9 {
        return Err(format!("{text} is not above 0 and at most a billion"));
    }
    Ok((usd * 1e6).round() as u64)
}

fn parse_lens(word: &str) -> Result<Lens, String> {
    Lens::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Lens::ALL.iter().map(|lens| lens.as_str()).collect();
        format!("no lens is called {word:?}; there are {}", known.join(", "))
    })
}

fn parse_depth(word: &str) -> Result<Depth, String> {
    match word {
        "quick" => Ok(Depth::Quick),
        "standard" => Ok(Depth::Standard),
        "deep" => Ok(Depth::Deep),
        _ => Err(format!("no depth is called {word:?}; there are quick, standard, deep")),
    }
}

fn parse_reviewer(word: &str) -> Result<ReviewerKind, String> {
    use ReviewerKind::{Agent, Imported, Model, Person, Rules};
    [Agent, Model, Rules, Imported, Person].into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
        format!("no kind of reviewer is called {word:?}; there are agent, model, rules, imported, person")
    })
}
