//! The certificate authorities that are trusted.

use std::sync::OnceLock;

use rustls::RootCertStore;

use crate::context::ContextError;

/// The authorities that the system trusts. They are read once.
pub(crate) fn of_the_system() -> Result<RootCertStore, ContextError> {
    static AUTHORITIES: OnceLock<RootCertStore> = OnceLock::new();
    let authorities = AUTHORITIES.get_or_init(|| {
        let mut store = RootCertStore::empty();
        // What the system has and cannot be read is none that anybody can be checked against.
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        store
    });
    if authorities.is_empty() {
        return Err(ContextError::new(
            "the system has no certificates of authorities",
            "",
        ));
    }
    Ok(authorities.clone())
}
