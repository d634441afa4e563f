;;; (srfi 160 f64): vectors of f64 elements.

(define-library (srfi 160 f64)
  (export
   make-f64vector f64vector f64vector-unfold f64vector-unfold-right f64vector-copy
   f64vector-reverse-copy f64vector-append f64vector-concatenate f64vector-append-subvectors f64?
   f64vector-empty? f64vector= f64vector-take f64vector-take-right f64vector-drop
   f64vector-drop-right f64vector-segment f64vector-fold f64vector-fold-right f64vector-map
   f64vector-map! f64vector-for-each f64vector-count f64vector-cumulate f64vector-take-while
   f64vector-take-while-right f64vector-drop-while f64vector-drop-while-right f64vector-index
   f64vector-index-right f64vector-skip f64vector-skip-right f64vector-any f64vector-every
   f64vector-partition f64vector-filter f64vector-remove f64vector-swap! f64vector-fill!
   f64vector-reverse! f64vector-copy! f64vector-reverse-copy! f64vector-unfold!
   f64vector-unfold-right! f64vector->list reverse-f64vector->list list->f64vector
   reverse-list->f64vector f64vector->vector vector->f64vector make-f64vector-generator
   f64vector-comparator write-f64vector f64vector? f64vector-length f64vector-ref f64vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/f64
      (f64vector-unfold numeric:unfold)
      (f64vector-unfold-right numeric:unfold-right)
      (f64vector-copy numeric:copy)
      (f64vector-reverse-copy numeric:reverse-copy)
      (f64vector-append numeric:append)
      (f64vector-concatenate numeric:concatenate)
      (f64vector-append-subvectors numeric:append-subvectors)
      (f64vector-empty? numeric:empty?)
      (f64vector= numeric:=)
      (f64vector-take numeric:take)
      (f64vector-take-right numeric:take-right)
      (f64vector-drop numeric:drop)
      (f64vector-drop-right numeric:drop-right)
      (f64vector-segment numeric:segment)
      (f64vector-fold numeric:fold)
      (f64vector-fold-right numeric:fold-right)
      (f64vector-map numeric:map)
      (f64vector-map! numeric:map!)
      (f64vector-for-each numeric:for-each)
      (f64vector-count numeric:count)
      (f64vector-cumulate numeric:cumulate)
      (f64vector-take-while numeric:take-while)
      (f64vector-take-while-right numeric:take-while-right)
      (f64vector-drop-while numeric:drop-while)
      (f64vector-drop-while-right numeric:drop-while-right)
      (f64vector-index numeric:index)
      (f64vector-index-right numeric:index-right)
      (f64vector-skip numeric:skip)
      (f64vector-skip-right numeric:skip-right)
      (f64vector-any numeric:any)
      (f64vector-every numeric:every)
      (f64vector-partition numeric:partition)
      (f64vector-filter numeric:filter)
      (f64vector-remove numeric:remove)
      (f64vector-swap! numeric:swap!)
      (f64vector-fill! numeric:fill!)
      (f64vector-reverse! numeric:reverse!)
      (f64vector-copy! numeric:copy!)
      (f64vector-reverse-copy! numeric:reverse-copy!)
      (f64vector-unfold! numeric:unfold!)
      (f64vector-unfold-right! numeric:unfold-right!)
      (reverse-f64vector->list numeric:reverse->list)
      (reverse-list->f64vector numeric:reverse-list->)
      (f64vector->vector numeric:->vector)
      (vector->f64vector numeric:vector->)
      (make-f64vector-generator numeric:generator)
      (f64vector-comparator numeric:comparator)
      (write-f64vector numeric:write))))
