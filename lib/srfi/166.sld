;;; (srfi 166): monadic formatting.

(define-library (srfi 166)
  (export show displayed written written-shared written-simply escaped maybe-escaped
          numeric numeric/comma numeric/si numeric/fitted
          nl fl space-to tab-to nothing
          each each-in-list joined joined/prefix joined/suffix joined/last joined/dot
          joined/range
          padded padded/right padded/both trimmed trimmed/right trimmed/both trimmed/lazy
          fitted fitted/right fitted/both
          fn with with! forked call-with-output make-state-variable
          port row col width output output-default writer string-width substring/width
          substring/preserve pad-char ellipsis radix precision decimal-sep decimal-align sign-rule
          comma-rule comma-sep word-separator? ambiguous-is-wide? pretty-environment
          pretty pretty-shared pretty-simply pretty-with-color
          columnar tabular wrapped wrapped/list wrapped/char justified from-file line-numbers
          as-red as-blue as-green as-cyan as-yellow as-magenta as-white as-black
          as-bold as-italic as-underline as-color as-true-color
          on-red on-blue on-green on-cyan on-yellow on-magenta on-white on-black
          on-color on-true-color
          terminal-aware string-terminal-width string-terminal-width/wide
          substring-terminal-width substring-terminal-width/wide
          substring-terminal-preserve substring-terminal/preserve upcased downcased)
  (import (srfi 166 base) (srfi 166 pretty) (srfi 166 columnar) (srfi 166 color)
          (srfi 166 unicode)))
