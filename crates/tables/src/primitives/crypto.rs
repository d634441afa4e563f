//! Digests and the like. `(canny crypto)` and `(canny web password)` have the procedures for people.

use super::rows;

rows! {
    /// Cryptography.
    ROWS slow Work:
    "%digest" (2) [] "symbol bytevector -> bytevector" "The digest of bytes.";
    "%hmac" (3) [] "symbol bytevector bytevector -> bytevector"
        "The authentication code of bytes: key, bytes.";
    "%pbkdf2" (5) [] "symbol bytevector bytevector index index -> bytevector"
        "A key out of a password: salt, iterations, length.";
    "%random-bytes" (1) [] "index -> bytevector" "Bytes that nobody can foresee.";
    "%hash-password" (4) [] "any index index index -> string"
        "Argon2id with a random salt: memory in KiB, passes, lanes.";
    "%password-matches?" (2) [] "any string -> boolean" "Whether a password is the one of a hash.";
    "%timing-safe=?" (2) [] "bytevector bytevector -> boolean"
        "Whether bytes are equal, in a time that does not tell where they differ.";
}
