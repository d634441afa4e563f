;;; (srfi 160 u32): vectors of u32 elements.

(define-library (srfi 160 u32)
  (export
   make-u32vector u32vector u32vector-unfold u32vector-unfold-right u32vector-copy
   u32vector-reverse-copy u32vector-append u32vector-concatenate u32vector-append-subvectors u32?
   u32vector-empty? u32vector= u32vector-take u32vector-take-right u32vector-drop
   u32vector-drop-right u32vector-segment u32vector-fold u32vector-fold-right u32vector-map
   u32vector-map! u32vector-for-each u32vector-count u32vector-cumulate u32vector-take-while
   u32vector-take-while-right u32vector-drop-while u32vector-drop-while-right u32vector-index
   u32vector-index-right u32vector-skip u32vector-skip-right u32vector-any u32vector-every
   u32vector-partition u32vector-filter u32vector-remove u32vector-swap! u32vector-fill!
   u32vector-reverse! u32vector-copy! u32vector-reverse-copy! u32vector-unfold!
   u32vector-unfold-right! u32vector->list reverse-u32vector->list list->u32vector
   reverse-list->u32vector u32vector->vector vector->u32vector make-u32vector-generator
   u32vector-comparator write-u32vector u32vector? u32vector-length u32vector-ref u32vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/u32
      (u32vector-unfold numeric:unfold)
      (u32vector-unfold-right numeric:unfold-right)
      (u32vector-copy numeric:copy)
      (u32vector-reverse-copy numeric:reverse-copy)
      (u32vector-append numeric:append)
      (u32vector-concatenate numeric:concatenate)
      (u32vector-append-subvectors numeric:append-subvectors)
      (u32vector-empty? numeric:empty?)
      (u32vector= numeric:=)
      (u32vector-take numeric:take)
      (u32vector-take-right numeric:take-right)
      (u32vector-drop numeric:drop)
      (u32vector-drop-right numeric:drop-right)
      (u32vector-segment numeric:segment)
      (u32vector-fold numeric:fold)
      (u32vector-fold-right numeric:fold-right)
      (u32vector-map numeric:map)
      (u32vector-map! numeric:map!)
      (u32vector-for-each numeric:for-each)
      (u32vector-count numeric:count)
      (u32vector-cumulate numeric:cumulate)
      (u32vector-take-while numeric:take-while)
      (u32vector-take-while-right numeric:take-while-right)
      (u32vector-drop-while numeric:drop-while)
      (u32vector-drop-while-right numeric:drop-while-right)
      (u32vector-index numeric:index)
      (u32vector-index-right numeric:index-right)
      (u32vector-skip numeric:skip)
      (u32vector-skip-right numeric:skip-right)
      (u32vector-any numeric:any)
      (u32vector-every numeric:every)
      (u32vector-partition numeric:partition)
      (u32vector-filter numeric:filter)
      (u32vector-remove numeric:remove)
      (u32vector-swap! numeric:swap!)
      (u32vector-fill! numeric:fill!)
      (u32vector-reverse! numeric:reverse!)
      (u32vector-copy! numeric:copy!)
      (u32vector-reverse-copy! numeric:reverse-copy!)
      (u32vector-unfold! numeric:unfold!)
      (u32vector-unfold-right! numeric:unfold-right!)
      (reverse-u32vector->list numeric:reverse->list)
      (reverse-list->u32vector numeric:reverse-list->)
      (u32vector->vector numeric:->vector)
      (vector->u32vector numeric:vector->)
      (make-u32vector-generator numeric:generator)
      (u32vector-comparator numeric:comparator)
      (write-u32vector numeric:write))))
