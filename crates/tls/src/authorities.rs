//! The certificate authorities that are trusted.

use std::sync::OnceLock;

use rustls::RootCertStore;

use crate::error::ContextError;

/// The authorities that the system trusts. They are read once.
pub(crate) fn of_the_system() -> Result<RootCertStore, ContextError> {
    static AUTHORITIES: OnceLock<RootCertStore> = OnceLock::new();
    let authorities = AUTHORITIES.get_or_init(|| {
        let mut store = RootCertStore::empty();
        // Certificates of the system that cannot be read are left out: nobody can be checked
        // against them.
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
