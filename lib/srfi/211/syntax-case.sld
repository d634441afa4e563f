;;; (srfi 211 syntax-case): procedural macros by pattern matching.

(define-library (srfi 211 syntax-case)
  (export syntax-case syntax quasisyntax unsyntax unsyntax-splicing ... _ with-syntax
          identifier? bound-identifier=? free-identifier=? syntax->datum datum->syntax
          generate-temporaries syntax-violation)
  (import (canny syntax-case)))
