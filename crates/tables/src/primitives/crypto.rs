//! Digests and the like. `(canny crypto)` has the procedures for people.

use super::rows;

rows! {
    /// Cryptography.
    ROWS:
    "%digest" (2) [] "symbol bytevector -> bytevector" "The digest of bytes.";
    "%hmac" (3) [] "symbol bytevector bytevector -> bytevector" "The authentication code of bytes: key, bytes.";
    "%pbkdf2" (5) [] "symbol bytevector bytevector index index -> bytevector" "A key out of a password: salt, iterations, length.";
    "%random-bytes" (1) [] "index -> bytevector" "Bytes that nobody can foresee.";
    "%timing-safe=?" (2) [] "bytevector bytevector -> boolean" "Whether bytes are equal, in a time that does not tell where they differ.";
}
