//! Dangerous calls in Python, JavaScript and TypeScript, PHP and Ruby.

use super::{Action, Args, Call, Entry, Receiver, Rule, Scope};
use crate::language::*;

const fn call(
    words: &'static [&'static str],
    languages: Languages,
    rule: &'static Rule,
    receiver: Receiver,
    args: Args,
) -> Entry {
    Entry { words, languages, scope: Scope::Code, action: Action::Call(Call { rule, receiver, args }) }
}

/// A security rule about a call; severity and confidence as given.
#[expect(clippy::too_many_arguments, reason = "a row of a table, read by its columns")]
pub(super) const fn danger(
    id: &'static str,
    title: &'static str,
    category: &'static str,
    severity: &'static str,
    confidence: &'static str,
    cwe: &'static str,
    summary: &'static str,
    fix: &'static str,
) -> Rule {
    Rule { id, title, lens: "security", category, severity, confidence, cwe, summary, fix, rank: 50 }
}

// High would need proof that the text comes from outside; the flow is not followed here.
pub(super) static EVAL: Rule = danger(
    "calls/eval-dynamic",
    "possible code injection: computed text is run as code",
    "code-injection",
    "medium",
    "medium",
    "CWE-95",
    "text that is not a literal is evaluated as code; whoever controls the text controls the program",
    "parse the input instead, or choose among known functions by name",
);
// As above.
pub(super) static SHELL_COMMAND: Rule = danger(
    "calls/shell-command-dynamic",
    "possible command injection: a shell runs a computed command",
    "command-injection",
    "medium",
    "medium",
    "CWE-78",
    "the command line is built at run time and read by a shell; a value from outside can add commands",
    "pass the program and its arguments as a list, without a shell",
);
// Deserialising hostile bytes runs code; how hostile they are is not known here.
pub(super) static DESERIALIZE: Rule = danger(
    "calls/unsafe-deserialization",
    "possible unsafe deserialization",
    "unsafe-deserialization",
    "medium",
    "medium",
    "CWE-502",
    "this format can create any object and run code while it is read; bytes from outside must never reach it",
    "use a data-only format such as JSON, or check a signature before reading",
);
// One known-bad default with a known-good sibling.
static YAML_LOAD: Rule = danger(
    "calls/yaml-load",
    "YAML is loaded with a loader that can create objects",
    "unsafe-deserialization",
    "high",
    "high",
    "CWE-502",
    "`yaml.load` without a safe loader constructs arbitrary objects from the document",
    "use `yaml.safe_load` or pass `Loader=yaml.SafeLoader`",
);
// Guessing the name needs local access.
static MKTEMP: Rule = danger(
    "calls/temporary-name",
    "temporary file name without creating the file",
    "insecure-temporary-file",
    "medium",
    "high",
    "CWE-377",
    "between choosing the name and opening the file another user can place a link there",
    "create and open the file in one step (`mkstemp`, `NamedTemporaryFile`)",
);
// Weak hashes of passwords are cracked offline within hours.
pub(super) static WEAK_PASSWORD_HASH: Rule = danger(
    "calls/weak-password-hash",
    "a password is hashed with a fast, broken hash",
    "weak-hash",
    "high",
    "medium",
    "CWE-916",
    "MD5 and SHA-1 are made for speed; stolen hashes are reversed by trying passwords",
    "use argon2, scrypt or bcrypt with a salt for each password",
);
// Browser code: needs a value from outside.
static DOM_WRITE: Rule = danger(
    "calls/dom-html",
    "possible cross-site scripting: computed HTML is written into the page",
    "cross-site-scripting",
    "medium",
    "low",
    "CWE-79",
    "text that is not a literal becomes markup; a value from outside can bring scripts",
    "set `textContent`, or sanitise the markup first",
);
// A path of an archive leads out of the directory; newer runtimes filter by default.
static EXTRACT: Rule = danger(
    "calls/archive-extract",
    "possible path traversal while an archive is unpacked",
    "path-traversal",
    "low",
    "low",
    "CWE-22",
    "members with `..` or absolute names are written outside the target directory",
    "pass `filter=\"data\"`, or check each member's path",
);
// The fault has to be combined with code that lets templates be chosen.
static TEMPLATE_STRING: Rule = danger(
    "calls/template-from-string",
    "possible template injection: a template is made of computed text",
    "template-injection",
    "medium",
    "medium",
    "CWE-1336",
    "who controls the template's text runs expressions in the server",
    "keep templates constant and pass values as variables",
);
// A server that goes on for ever holds a worker for ever.
static REQUEST_TIMEOUT: Rule = Rule {
    id: "reliability/request-without-timeout",
    title: "HTTP request without a timeout",
    lens: "reliability",
    category: "missing-timeout",
    severity: "low",
    confidence: "medium",
    cwe: "CWE-400",
    summary: "`requests` waits for ever by default; one server that does not answer blocks this caller for good",
    fix: "pass `timeout=` with seconds",
    rank: 50,
};
// Local debugging tool of the framework, remote code execution when reachable.
static FLASK_DEBUG: Rule = Rule {
    id: "config/flask-debug",
    title: "the web server is started with its debugger",
    lens: "config_deployment",
    category: "debug-enabled",
    severity: "medium",
    confidence: "medium",
    cwe: "CWE-489",
    summary: "the interactive debugger runs code for everybody who reaches it",
    fix: "read the switch from the environment and leave it off by default",
    rank: 50,
};
// Includes and echoes of request values are direct flows.
static PHP_INCLUDE: Rule = danger(
    "calls/include-request-value",
    "a file named by the request is included",
    "path-traversal",
    "critical",
    "high",
    "CWE-98",
    "the request chooses the file that is run as code",
    "choose among known files by a key",
);
static HTML_SAFE: Rule = danger(
    "calls/html-unescaped",
    "possible cross-site scripting: text is marked as safe HTML",
    "cross-site-scripting",
    "low",
    "low",
    "CWE-79",
    "marked text is not escaped by the template; a value from outside can bring scripts",
    "escape first, or build the markup with the template",
);
// Overwrites any variable of the function.
static EXTRACT_REQUEST: Rule = danger(
    "calls/extract-request",
    "request parameters become variables",
    "mass-assignment",
    "high",
    "high",
    "CWE-621",
    "every parameter overwrites the variable of its name",
    "read the parameters that are needed by name",
);
static SEND_DYNAMIC: Rule = danger(
    "calls/send-parameter",
    "a request parameter chooses the method that is called",
    "code-injection",
    "high",
    "high",
    "CWE-470",
    "the request can call any method of the object",
    "choose among known methods by a key",
);
// JSON Web Tokens that nobody checked.
static JWT_UNVERIFIED: Rule = danger(
    "calls/jwt-unverified",
    "a token is decoded without checking its signature",
    "authentication-bypass",
    "high",
    "medium",
    "CWE-347",
    "anybody can write a token that is accepted here",
    "verify with the key and an explicit list of algorithms",
);
// Deprecated; derives the key with MD5 and uses no vector.
static CREATE_CIPHER: Rule = danger(
    "calls/create-cipher",
    "a cipher without an initialisation vector",
    "weak-cryptography",
    "medium",
    "high",
    "CWE-329",
    "`createCipher` derives key and vector from the password alone, so equal texts encrypt equally",
    "use `createCipheriv` with a random vector and an authenticated mode",
);

/// The table.
pub const ENTRIES: &[Entry] = &[
    call(&["eval", "exec"], PYTHON, &EVAL, Receiver::None, Args::Dynamic),
    call(&["eval"], SCRIPT | PHP | RUBY, &EVAL, Receiver::None, Args::Dynamic),
    call(&["Function"], SCRIPT, &EVAL, Receiver::None, Args::Dynamic),
    call(&["instance_eval", "class_eval", "module_eval"], RUBY, &EVAL, Receiver::Any, Args::Dynamic),
    call(&["create_function"], PHP, &EVAL, Receiver::None, Args::Any),
    call(&["runInNewContext", "runInThisContext", "runInContext"], SCRIPT, &EVAL, Receiver::Any, Args::Dynamic),
    call(&["system", "popen"], PYTHON, &SHELL_COMMAND, Receiver::One(&["os"]), Args::Dynamic),
    call(
        &["getoutput", "getstatusoutput"],
        PYTHON,
        &SHELL_COMMAND,
        Receiver::One(&["commands", "subprocess"]),
        Args::Dynamic,
    ),
    call(
        &["exec", "execSync"],
        SCRIPT,
        &SHELL_COMMAND,
        Receiver::One(&["child_process", "cp", "childProcess", "shell"]),
        Args::Dynamic,
    ),
    call(&["execSync"], SCRIPT, &SHELL_COMMAND, Receiver::None, Args::Dynamic),
    call(
        &["system", "exec", "shell_exec", "passthru", "popen", "proc_open"],
        PHP,
        &SHELL_COMMAND,
        Receiver::None,
        Args::Dynamic,
    ),
    call(&["system", "exec", "spawn"], RUBY, &SHELL_COMMAND, Receiver::None, Args::Has(&["#{", "params"])),
    call(
        &["popen", "capture2", "capture3"],
        RUBY,
        &SHELL_COMMAND,
        Receiver::One(&["IO", "Open3"]),
        Args::Has(&["#{", "params"]),
    ),
    call(
        &["loads", "load", "Unpickler"],
        PYTHON,
        &DESERIALIZE,
        Receiver::One(&["pickle", "cPickle", "dill", "marshal", "cloudpickle"]),
        Args::Any,
    ),
    call(&["decode"], PYTHON, &DESERIALIZE, Receiver::One(&["jsonpickle"]), Args::Any),
    call(&["unserialize"], PHP, &DESERIALIZE, Receiver::None, Args::Lacks(&["allowed_classes"])),
    call(&["unserialize"], SCRIPT, &DESERIALIZE, Receiver::Any, Args::Dynamic),
    call(&["load", "restore"], RUBY, &DESERIALIZE, Receiver::One(&["Marshal"]), Args::Any),
    call(&["unsafe_load"], RUBY, &DESERIALIZE, Receiver::One(&["YAML", "Psych"]), Args::Any),
    call(
        &["load", "load_all"],
        PYTHON,
        &YAML_LOAD,
        Receiver::One(&["yaml"]),
        Args::Lacks(&["SafeLoader", "BaseLoader", "safe"]),
    ),
    call(&["unsafe_load", "full_load", "unsafe_load_all"], PYTHON, &YAML_LOAD, Receiver::One(&["yaml"]), Args::Any),
    call(&["mktemp"], PYTHON, &MKTEMP, Receiver::One(&["tempfile"]), Args::Any),
    call(&["tempnam", "tmpnam"], PYTHON, &MKTEMP, Receiver::One(&["os"]), Args::Any),
    call(&["md5", "sha1"], PYTHON, &WEAK_PASSWORD_HASH, Receiver::Any, Args::Password),
    call(&["md5", "sha1"], PHP, &WEAK_PASSWORD_HASH, Receiver::None, Args::Password),
    call(&["hexdigest", "digest"], RUBY, &WEAK_PASSWORD_HASH, Receiver::One(&["MD5", "SHA1"]), Args::Password),
    call(&["insertAdjacentHTML"], SCRIPT, &DOM_WRITE, Receiver::Some, Args::Has(&["${", "+"])),
    call(&["write", "writeln"], SCRIPT, &DOM_WRITE, Receiver::One(&["document"]), Args::Dynamic),
    call(&["extractall"], PYTHON, &EXTRACT, Receiver::Some, Args::Lacks(&["filter", "members"])),
    call(&["render_template_string"], PYTHON, &TEMPLATE_STRING, Receiver::Any, Args::Dynamic),
    call(&["from_string"], PYTHON, &TEMPLATE_STRING, Receiver::Some, Args::Dynamic),
    call(
        &["get", "post", "put", "patch", "delete", "head", "options", "request"],
        PYTHON,
        &REQUEST_TIMEOUT,
        Receiver::One(&["requests"]),
        Args::Lacks(&["timeout", "**"]),
    ),
    call(&["run"], PYTHON, &FLASK_DEBUG, Receiver::Some, Args::Has(&["debug=True", "debug = True"])),
    call(
        &["include", "require", "include_once", "require_once"],
        PHP,
        &PHP_INCLUDE,
        Receiver::None,
        Args::Has(&["$_GET", "$_POST", "$_REQUEST", "$_COOKIE"]),
    ),
    call(&["mark_safe"], PYTHON, &HTML_SAFE, Receiver::Any, Args::Dynamic),
    call(&["raw"], RUBY, &HTML_SAFE, Receiver::None, Args::Has(&["params", "#{"])),
    call(&["extract"], PHP, &EXTRACT_REQUEST, Receiver::None, Args::Has(&["$_GET", "$_POST", "$_REQUEST"])),
    call(&["send", "public_send", "constantize"], RUBY, &SEND_DYNAMIC, Receiver::Some, Args::Has(&["params"])),
    call(
        &["decode"],
        PYTHON,
        &JWT_UNVERIFIED,
        Receiver::One(&["jwt"]),
        Args::Has(&["verify=False", "\"verify_signature\": False", "'verify_signature': False"]),
    ),
    call(
        &["verify"],
        SCRIPT,
        &JWT_UNVERIFIED,
        Receiver::One(&["jwt", "jsonwebtoken"]),
        Args::Has(&["'none'", "\"none\""]),
    ),
    call(&["createCipher", "createDecipher"], SCRIPT, &CREATE_CIPHER, Receiver::Any, Args::Any),
];
