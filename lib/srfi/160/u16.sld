;;; (srfi 160 u16): vectors of u16 elements.

(define-library (srfi 160 u16)
  (export
   make-u16vector u16vector u16vector-unfold u16vector-unfold-right u16vector-copy
   u16vector-reverse-copy u16vector-append u16vector-concatenate u16vector-append-subvectors u16?
   u16vector-empty? u16vector= u16vector-take u16vector-take-right u16vector-drop
   u16vector-drop-right u16vector-segment u16vector-fold u16vector-fold-right u16vector-map
   u16vector-map! u16vector-for-each u16vector-count u16vector-cumulate u16vector-take-while
   u16vector-take-while-right u16vector-drop-while u16vector-drop-while-right u16vector-index
   u16vector-index-right u16vector-skip u16vector-skip-right u16vector-any u16vector-every
   u16vector-partition u16vector-filter u16vector-remove u16vector-swap! u16vector-fill!
   u16vector-reverse! u16vector-copy! u16vector-reverse-copy! u16vector-unfold!
   u16vector-unfold-right! u16vector->list reverse-u16vector->list list->u16vector
   reverse-list->u16vector u16vector->vector vector->u16vector make-u16vector-generator
   u16vector-comparator write-u16vector u16vector? u16vector-length u16vector-ref u16vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/u16
      (u16vector-unfold numeric:unfold)
      (u16vector-unfold-right numeric:unfold-right)
      (u16vector-copy numeric:copy)
      (u16vector-reverse-copy numeric:reverse-copy)
      (u16vector-append numeric:append)
      (u16vector-concatenate numeric:concatenate)
      (u16vector-append-subvectors numeric:append-subvectors)
      (u16vector-empty? numeric:empty?)
      (u16vector= numeric:=)
      (u16vector-take numeric:take)
      (u16vector-take-right numeric:take-right)
      (u16vector-drop numeric:drop)
      (u16vector-drop-right numeric:drop-right)
      (u16vector-segment numeric:segment)
      (u16vector-fold numeric:fold)
      (u16vector-fold-right numeric:fold-right)
      (u16vector-map numeric:map)
      (u16vector-map! numeric:map!)
      (u16vector-for-each numeric:for-each)
      (u16vector-count numeric:count)
      (u16vector-cumulate numeric:cumulate)
      (u16vector-take-while numeric:take-while)
      (u16vector-take-while-right numeric:take-while-right)
      (u16vector-drop-while numeric:drop-while)
      (u16vector-drop-while-right numeric:drop-while-right)
      (u16vector-index numeric:index)
      (u16vector-index-right numeric:index-right)
      (u16vector-skip numeric:skip)
      (u16vector-skip-right numeric:skip-right)
      (u16vector-any numeric:any)
      (u16vector-every numeric:every)
      (u16vector-partition numeric:partition)
      (u16vector-filter numeric:filter)
      (u16vector-remove numeric:remove)
      (u16vector-swap! numeric:swap!)
      (u16vector-fill! numeric:fill!)
      (u16vector-reverse! numeric:reverse!)
      (u16vector-copy! numeric:copy!)
      (u16vector-reverse-copy! numeric:reverse-copy!)
      (u16vector-unfold! numeric:unfold!)
      (u16vector-unfold-right! numeric:unfold-right!)
      (reverse-u16vector->list numeric:reverse->list)
      (reverse-list->u16vector numeric:reverse-list->)
      (u16vector->vector numeric:->vector)
      (vector->u16vector numeric:vector->)
      (make-u16vector-generator numeric:generator)
      (u16vector-comparator numeric:comparator)
      (write-u16vector numeric:write))))
