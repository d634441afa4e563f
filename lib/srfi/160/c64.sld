;;; (srfi 160 c64): vectors of c64 elements.

(define-library (srfi 160 c64)
  (export
   make-c64vector c64vector c64vector-unfold c64vector-unfold-right c64vector-copy
   c64vector-reverse-copy c64vector-append c64vector-concatenate c64vector-append-subvectors c64?
   c64vector-empty? c64vector= c64vector-take c64vector-take-right c64vector-drop
   c64vector-drop-right c64vector-segment c64vector-fold c64vector-fold-right c64vector-map
   c64vector-map! c64vector-for-each c64vector-count c64vector-cumulate c64vector-take-while
   c64vector-take-while-right c64vector-drop-while c64vector-drop-while-right c64vector-index
   c64vector-index-right c64vector-skip c64vector-skip-right c64vector-any c64vector-every
   c64vector-partition c64vector-filter c64vector-remove c64vector-swap! c64vector-fill!
   c64vector-reverse! c64vector-copy! c64vector-reverse-copy! c64vector-unfold!
   c64vector-unfold-right! c64vector->list reverse-c64vector->list list->c64vector
   reverse-list->c64vector c64vector->vector vector->c64vector make-c64vector-generator
   c64vector-comparator write-c64vector c64vector? c64vector-length c64vector-ref c64vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/c64
      (c64vector-unfold numeric:unfold)
      (c64vector-unfold-right numeric:unfold-right)
      (c64vector-copy numeric:copy)
      (c64vector-reverse-copy numeric:reverse-copy)
      (c64vector-append numeric:append)
      (c64vector-concatenate numeric:concatenate)
      (c64vector-append-subvectors numeric:append-subvectors)
      (c64vector-empty? numeric:empty?)
      (c64vector= numeric:=)
      (c64vector-take numeric:take)
      (c64vector-take-right numeric:take-right)
      (c64vector-drop numeric:drop)
      (c64vector-drop-right numeric:drop-right)
      (c64vector-segment numeric:segment)
      (c64vector-fold numeric:fold)
      (c64vector-fold-right numeric:fold-right)
      (c64vector-map numeric:map)
      (c64vector-map! numeric:map!)
      (c64vector-for-each numeric:for-each)
      (c64vector-count numeric:count)
      (c64vector-cumulate numeric:cumulate)
      (c64vector-take-while numeric:take-while)
      (c64vector-take-while-right numeric:take-while-right)
      (c64vector-drop-while numeric:drop-while)
      (c64vector-drop-while-right numeric:drop-while-right)
      (c64vector-index numeric:index)
      (c64vector-index-right numeric:index-right)
      (c64vector-skip numeric:skip)
      (c64vector-skip-right numeric:skip-right)
      (c64vector-any numeric:any)
      (c64vector-every numeric:every)
      (c64vector-partition numeric:partition)
      (c64vector-filter numeric:filter)
      (c64vector-remove numeric:remove)
      (c64vector-swap! numeric:swap!)
      (c64vector-fill! numeric:fill!)
      (c64vector-reverse! numeric:reverse!)
      (c64vector-copy! numeric:copy!)
      (c64vector-reverse-copy! numeric:reverse-copy!)
      (c64vector-unfold! numeric:unfold!)
      (c64vector-unfold-right! numeric:unfold-right!)
      (reverse-c64vector->list numeric:reverse->list)
      (reverse-list->c64vector numeric:reverse-list->)
      (c64vector->vector numeric:->vector)
      (vector->c64vector numeric:vector->)
      (make-c64vector-generator numeric:generator)
      (c64vector-comparator numeric:comparator)
      (write-c64vector numeric:write))))
