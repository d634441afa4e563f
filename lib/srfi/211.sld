;;; (srfi 211): macros that are procedures, all ways to write them.

(define-library (srfi 211)
  (export syntax-case syntax quasisyntax unsyntax unsyntax-splicing ... _ with-syntax
          bound-identifier=? free-identifier=? syntax->datum datum->syntax
          generate-temporaries syntax-violation identifier-syntax make-variable-transformer
          er-macro-transformer ir-macro-transformer sc-macro-transformer rsc-macro-transformer
          make-syntactic-closure close-syntax define-macro identifier?)
  (import (canny syntax-case)))
