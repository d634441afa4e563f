;;; (srfi 160 u64): vectors of u64 elements.

(define-library (srfi 160 u64)
  (export
   make-u64vector u64vector u64vector-unfold u64vector-unfold-right u64vector-copy
   u64vector-reverse-copy u64vector-append u64vector-concatenate u64vector-append-subvectors u64?
   u64vector-empty? u64vector= u64vector-take u64vector-take-right u64vector-drop
   u64vector-drop-right u64vector-segment u64vector-fold u64vector-fold-right u64vector-map
   u64vector-map! u64vector-for-each u64vector-count u64vector-cumulate u64vector-take-while
   u64vector-take-while-right u64vector-drop-while u64vector-drop-while-right u64vector-index
   u64vector-index-right u64vector-skip u64vector-skip-right u64vector-any u64vector-every
   u64vector-partition u64vector-filter u64vector-remove u64vector-swap! u64vector-fill!
   u64vector-reverse! u64vector-copy! u64vector-reverse-copy! u64vector-unfold!
   u64vector-unfold-right! u64vector->list reverse-u64vector->list list->u64vector
   reverse-list->u64vector u64vector->vector vector->u64vector make-u64vector-generator
   u64vector-comparator write-u64vector u64vector? u64vector-length u64vector-ref u64vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/u64
      (u64vector-unfold numeric:unfold)
      (u64vector-unfold-right numeric:unfold-right)
      (u64vector-copy numeric:copy)
      (u64vector-reverse-copy numeric:reverse-copy)
      (u64vector-append numeric:append)
      (u64vector-concatenate numeric:concatenate)
      (u64vector-append-subvectors numeric:append-subvectors)
      (u64vector-empty? numeric:empty?)
      (u64vector= numeric:=)
      (u64vector-take numeric:take)
      (u64vector-take-right numeric:take-right)
      (u64vector-drop numeric:drop)
      (u64vector-drop-right numeric:drop-right)
      (u64vector-segment numeric:segment)
      (u64vector-fold numeric:fold)
      (u64vector-fold-right numeric:fold-right)
      (u64vector-map numeric:map)
      (u64vector-map! numeric:map!)
      (u64vector-for-each numeric:for-each)
      (u64vector-count numeric:count)
      (u64vector-cumulate numeric:cumulate)
      (u64vector-take-while numeric:take-while)
      (u64vector-take-while-right numeric:take-while-right)
      (u64vector-drop-while numeric:drop-while)
      (u64vector-drop-while-right numeric:drop-while-right)
      (u64vector-index numeric:index)
      (u64vector-index-right numeric:index-right)
      (u64vector-skip numeric:skip)
      (u64vector-skip-right numeric:skip-right)
      (u64vector-any numeric:any)
      (u64vector-every numeric:every)
      (u64vector-partition numeric:partition)
      (u64vector-filter numeric:filter)
      (u64vector-remove numeric:remove)
      (u64vector-swap! numeric:swap!)
      (u64vector-fill! numeric:fill!)
      (u64vector-reverse! numeric:reverse!)
      (u64vector-copy! numeric:copy!)
      (u64vector-reverse-copy! numeric:reverse-copy!)
      (u64vector-unfold! numeric:unfold!)
      (u64vector-unfold-right! numeric:unfold-right!)
      (reverse-u64vector->list numeric:reverse->list)
      (reverse-list->u64vector numeric:reverse-list->)
      (u64vector->vector numeric:->vector)
      (vector->u64vector numeric:vector->)
      (make-u64vector-generator numeric:generator)
      (u64vector-comparator numeric:comparator)
      (write-u64vector numeric:write))))
