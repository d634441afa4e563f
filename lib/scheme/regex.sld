;;; (scheme regex): SRFI 115, as R7RS-large names it.

(define-library (scheme regex)
  (export
   regexp regexp? valid-sre? rx regexp->sre char-set->sre
   regexp-matches regexp-matches? regexp-search regexp-fold regexp-extract regexp-split
   regexp-partition regexp-replace regexp-replace-all
   regexp-match? regexp-match-count regexp-match-submatch regexp-match-submatch-start
   regexp-match-submatch-end regexp-match->list)
  (import (srfi 115)))
