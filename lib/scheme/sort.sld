;;; (scheme sort): SRFI 132, as R7RS-large names it.

(define-library (scheme sort)
  (export list-sorted? vector-sorted? list-sort list-stable-sort list-sort! list-stable-sort!
          vector-sort vector-stable-sort vector-sort! vector-stable-sort!
          list-merge list-merge! vector-merge vector-merge!
          list-delete-neighbor-dups list-delete-neighbor-dups!
          vector-delete-neighbor-dups vector-delete-neighbor-dups!
          vector-find-median vector-find-median! vector-select! vector-separate!)
  (import (srfi 132)))
