//! Words that generated sources are made of.

/// What a generated file is about.
pub(crate) const TOPICS: [&str; 40] = [
    "account", "address", "archive", "basket", "booking", "budget", "calendar", "channel", "comment", "contract",
    "coupon", "courier", "customer", "delivery", "discount", "document", "folder", "gallery", "holiday", "inbox",
    "journal", "label", "letter", "license", "member", "message", "parcel", "partner", "permit", "picture", "policy",
    "profile", "project", "receipt", "region", "review", "season", "shelf", "ticket", "voucher",
];

/// What generated functions do.
pub(crate) const DEEDS: [&str; 20] = [
    "add", "assign", "cancel", "close", "compare", "copy", "count", "draw", "find", "lock", "move", "open", "pick",
    "print", "rank", "read", "rename", "restore", "split", "store",
];

/// The first letter made a capital.
pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
