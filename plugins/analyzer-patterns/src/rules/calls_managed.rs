//! Dangerous calls in Java, Kotlin, C# and Go.

use super::calls_script::{DESERIALIZE, EVAL, SHELL_COMMAND, WEAK_PASSWORD_HASH, danger};
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

// Broken ciphers and ECB leak the text to whoever sees the ciphertext.
static WEAK_CIPHER: Rule = danger(
    "calls/weak-cipher",
    "a broken cipher or the ECB mode",
    "weak-cryptography",
    "medium",
    "high",
    "CWE-327",
    "DES, RC4 and the ECB mode do not hide the text: short keys are tried out, equal blocks encrypt equally",
    "use AES-GCM or ChaCha20-Poly1305 with a fresh nonce",
);
// The defaults of these parsers resolve external entities.
static XML_DEFAULTS: Rule = danger(
    "calls/xml-external-entities",
    "possible external entities: an XML parser with its defaults",
    "xml-external-entity",
    "low",
    "low",
    "CWE-611",
    "the parser's defaults fetch entities from files and servers that the document names",
    "switch document types off (`disallow-doctype-decl`) before parsing",
);
// Markup is trusted by its type.
static TEMPLATE_HTML: Rule = danger(
    "calls/go-template-html",
    "possible cross-site scripting: a computed value is declared to be safe HTML",
    "cross-site-scripting",
    "medium",
    "medium",
    "CWE-79",
    "values of this type are not escaped by the template",
    "leave the value a string, so that the template escapes it",
);

/// The table.
pub const ENTRIES: &[Entry] = &[
    call(&["exec"], JVM, &SHELL_COMMAND, Receiver::One(&["getRuntime", "runtime", "rt"]), Args::Dynamic),
    call(&["Start"], CSHARP, &SHELL_COMMAND, Receiver::One(&["Process"]), Args::Dynamic),
    call(
        &["Command", "CommandContext"],
        GO,
        &SHELL_COMMAND,
        Receiver::One(&["exec"]),
        Args::Has(&["\"-c\", ", "\"/c\", "]),
    ),
    call(&["eval"], JVM, &EVAL, Receiver::Some, Args::Dynamic),
    call(&["readObject", "readUnshared"], JVM, &DESERIALIZE, Receiver::Some, Args::Any),
    call(&["XMLDecoder"], JVM, &DESERIALIZE, Receiver::None, Args::Any),
    call(
        &["BinaryFormatter", "SoapFormatter", "NetDataContractSerializer", "LosFormatter"],
        CSHARP,
        &DESERIALIZE,
        Receiver::None,
        Args::Any,
    ),
    call(
        &["getInstance"],
        JVM,
        &WEAK_CIPHER,
        Receiver::One(&["Cipher"]),
        Args::Has(&["\"DES", "/ECB/", "\"RC4", "\"ARCFOUR", "\"Blowfish", "\"AES\""]),
    ),
    call(&["NewCipher", "NewTripleDESCipher"], GO, &WEAK_CIPHER, Receiver::One(&["des", "rc4"]), Args::Any),
    call(&["DESCryptoServiceProvider", "RC2CryptoServiceProvider"], CSHARP, &WEAK_CIPHER, Receiver::None, Args::Any),
    call(
        &["createCipheriv"],
        SCRIPT,
        &WEAK_CIPHER,
        Receiver::Any,
        Args::Has(&["'des", "\"des", "-ecb'", "-ecb\"", "'rc4", "\"rc4"]),
    ),
    call(&["new"], PYTHON, &WEAK_CIPHER, Receiver::One(&["DES", "DES3", "ARC4", "ARC2"]), Args::Any),
    call(&["new"], PYTHON, &WEAK_CIPHER, Receiver::One(&["AES"]), Args::Has(&["MODE_ECB"])),
    call(
        &["openssl_encrypt", "openssl_decrypt"],
        PHP,
        &WEAK_CIPHER,
        Receiver::None,
        Args::Has(&["-ecb", "-ECB", "'des", "\"des", "'rc4", "DES-"]),
    ),
    call(&["Sum", "New"], GO, &WEAK_PASSWORD_HASH, Receiver::One(&["md5", "sha1"]), Args::Password),
    call(
        &["ComputeHash", "HashData"],
        CSHARP,
        &WEAK_PASSWORD_HASH,
        Receiver::One(&["md5", "MD5", "sha1", "SHA1"]),
        Args::Password,
    ),
    call(&["md5Hex", "sha1Hex", "md5"], JVM, &WEAK_PASSWORD_HASH, Receiver::Any, Args::Password),
    call(&["HTML", "JS", "URL"], GO, &TEMPLATE_HTML, Receiver::One(&["template"]), Args::Dynamic),
    Entry {
        words: &["DocumentBuilderFactory", "SAXParserFactory", "XMLInputFactory", "SAXReader"],
        languages: JVM,
        scope: Scope::Code,
        action: Action::Look(look_at_xml_factory),
    },
];

fn look_at_xml_factory(
    text: &crate::text::Text<'_>,
    out: &mut crate::collector::Collector<'_>,
    word: crate::words::Word,
) {
    let rest = text.rest_of_line(word.end);
    let is_made = rest.starts_with(b".newInstance(")
        || rest.starts_with(b".newFactory(")
        || text.bytes[..word.start].ends_with(b"new ");
    if !is_made {
        return;
    }
    // The guard stands close behind the creation when there is one.
    let window = &text.bytes[word.end..text.bytes.len().min(word.end + 1200)];
    let guards: [&[u8]; 5] =
        [b"setFeature", b"setProperty", b"setExpandEntityReferences", b"setXIncludeAware", b"ACCESS_EXTERNAL_DTD"];
    if text.spend(window.len() * guards.len()) && !guards.iter().any(|guard| crate::text::contains(window, guard)) {
        let end = word.end + rest.iter().position(|b| *b == b';').unwrap_or(rest.len());
        out.report(&XML_DEFAULTS, crate::collector::Hit::at(word.start, end));
    }
}
