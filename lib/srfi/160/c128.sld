;;; (srfi 160 c128): vectors of c128 elements.

(define-library (srfi 160 c128)
  (export
   make-c128vector c128vector c128vector-unfold c128vector-unfold-right c128vector-copy
   c128vector-reverse-copy c128vector-append c128vector-concatenate c128vector-append-subvectors
   c128? c128vector-empty? c128vector= c128vector-take c128vector-take-right c128vector-drop
   c128vector-drop-right c128vector-segment c128vector-fold c128vector-fold-right c128vector-map
   c128vector-map! c128vector-for-each c128vector-count c128vector-cumulate c128vector-take-while
   c128vector-take-while-right c128vector-drop-while c128vector-drop-while-right c128vector-index
   c128vector-index-right c128vector-skip c128vector-skip-right c128vector-any c128vector-every
   c128vector-partition c128vector-filter c128vector-remove c128vector-swap! c128vector-fill!
   c128vector-reverse! c128vector-copy! c128vector-reverse-copy! c128vector-unfold!
   c128vector-unfold-right! c128vector->list reverse-c128vector->list list->c128vector
   reverse-list->c128vector c128vector->vector vector->c128vector make-c128vector-generator
   c128vector-comparator write-c128vector c128vector? c128vector-length c128vector-ref
   c128vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/c128
      (c128vector-unfold numeric:unfold)
      (c128vector-unfold-right numeric:unfold-right)
      (c128vector-copy numeric:copy)
      (c128vector-reverse-copy numeric:reverse-copy)
      (c128vector-append numeric:append)
      (c128vector-concatenate numeric:concatenate)
      (c128vector-append-subvectors numeric:append-subvectors)
      (c128vector-empty? numeric:empty?)
      (c128vector= numeric:=)
      (c128vector-take numeric:take)
      (c128vector-take-right numeric:take-right)
      (c128vector-drop numeric:drop)
      (c128vector-drop-right numeric:drop-right)
      (c128vector-segment numeric:segment)
      (c128vector-fold numeric:fold)
      (c128vector-fold-right numeric:fold-right)
      (c128vector-map numeric:map)
      (c128vector-map! numeric:map!)
      (c128vector-for-each numeric:for-each)
      (c128vector-count numeric:count)
      (c128vector-cumulate numeric:cumulate)
      (c128vector-take-while numeric:take-while)
      (c128vector-take-while-right numeric:take-while-right)
      (c128vector-drop-while numeric:drop-while)
      (c128vector-drop-while-right numeric:drop-while-right)
      (c128vector-index numeric:index)
      (c128vector-index-right numeric:index-right)
      (c128vector-skip numeric:skip)
      (c128vector-skip-right numeric:skip-right)
      (c128vector-any numeric:any)
      (c128vector-every numeric:every)
      (c128vector-partition numeric:partition)
      (c128vector-filter numeric:filter)
      (c128vector-remove numeric:remove)
      (c128vector-swap! numeric:swap!)
      (c128vector-fill! numeric:fill!)
      (c128vector-reverse! numeric:reverse!)
      (c128vector-copy! numeric:copy!)
      (c128vector-reverse-copy! numeric:reverse-copy!)
      (c128vector-unfold! numeric:unfold!)
      (c128vector-unfold-right! numeric:unfold-right!)
      (reverse-c128vector->list numeric:reverse->list)
      (reverse-list->c128vector numeric:reverse-list->)
      (c128vector->vector numeric:->vector)
      (vector->c128vector numeric:vector->)
      (make-c128vector-generator numeric:generator)
      (c128vector-comparator numeric:comparator)
      (write-c128vector numeric:write))))
