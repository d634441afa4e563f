;;; (canny wasm libraries): what libraries of the form (wasm "FILE") are made with.
;;;
;;; The machine writes their sources; `crates/lib/src/guest_libraries.rs` says how.

(define-library (canny wasm libraries)
  (export instance-of-file instance-of-component instance-export)
  (import (canny primitives) (canny syntax) (canny machine control) (only (canny data lists) assoc)
          (canny wasm))
  (begin

    ;; An instance of the module in a file, with WASI if it imports that. Its function
    ;; `_initialize` is called, which libraries for WASI have.
    (define (instance-of-file file)
      (let* ((module (read-module file))
             (instance (instantiate module #:wasi (and (imports-wasi? module) (make-wasi))))
             (initialize (instance-export instance "_initialize")))
        (if (procedure? initialize)
            (initialize))
        instance))

    ;; An instance of the component in a file, with WASI.
    (define (instance-of-component file)
      (instantiate-component (read-component file) #:wasi (make-wasi)))

    (define (imports-wasi? module)
      (assoc "wasi_snapshot_preview1" (module-imports module)))))
