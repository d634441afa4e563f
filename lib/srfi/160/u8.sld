;;; (srfi 160 u8): vectors of bytes, which are bytevectors.

(define-library (srfi 160 u8)
  (export
   make-u8vector u8vector u8vector-unfold u8vector-unfold-right u8vector-copy
   u8vector-reverse-copy u8vector-append u8vector-concatenate u8vector-append-subvectors u8?
   u8vector-empty? u8vector= u8vector-take u8vector-take-right u8vector-drop u8vector-drop-right
   u8vector-segment u8vector-fold u8vector-fold-right u8vector-map u8vector-map! u8vector-for-each
   u8vector-count u8vector-cumulate u8vector-take-while u8vector-take-while-right
   u8vector-drop-while u8vector-drop-while-right u8vector-index u8vector-index-right u8vector-skip
   u8vector-skip-right u8vector-any u8vector-every u8vector-partition u8vector-filter
   u8vector-remove u8vector-swap! u8vector-fill! u8vector-reverse! u8vector-copy!
   u8vector-reverse-copy! u8vector-unfold! u8vector-unfold-right! u8vector->list
   reverse-u8vector->list list->u8vector reverse-list->u8vector u8vector->vector vector->u8vector
   make-u8vector-generator u8vector-comparator write-u8vector u8vector? u8vector-length
   u8vector-ref u8vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/u8
      (u8vector-unfold numeric:unfold)
      (u8vector-unfold-right numeric:unfold-right)
      (u8vector-copy numeric:copy)
      (u8vector-reverse-copy numeric:reverse-copy)
      (u8vector-append numeric:append)
      (u8vector-concatenate numeric:concatenate)
      (u8vector-append-subvectors numeric:append-subvectors)
      (u8vector-empty? numeric:empty?)
      (u8vector= numeric:=)
      (u8vector-take numeric:take)
      (u8vector-take-right numeric:take-right)
      (u8vector-drop numeric:drop)
      (u8vector-drop-right numeric:drop-right)
      (u8vector-segment numeric:segment)
      (u8vector-fold numeric:fold)
      (u8vector-fold-right numeric:fold-right)
      (u8vector-map numeric:map)
      (u8vector-map! numeric:map!)
      (u8vector-for-each numeric:for-each)
      (u8vector-count numeric:count)
      (u8vector-cumulate numeric:cumulate)
      (u8vector-take-while numeric:take-while)
      (u8vector-take-while-right numeric:take-while-right)
      (u8vector-drop-while numeric:drop-while)
      (u8vector-drop-while-right numeric:drop-while-right)
      (u8vector-index numeric:index)
      (u8vector-index-right numeric:index-right)
      (u8vector-skip numeric:skip)
      (u8vector-skip-right numeric:skip-right)
      (u8vector-any numeric:any)
      (u8vector-every numeric:every)
      (u8vector-partition numeric:partition)
      (u8vector-filter numeric:filter)
      (u8vector-remove numeric:remove)
      (u8vector-swap! numeric:swap!)
      (u8vector-fill! numeric:fill!)
      (u8vector-reverse! numeric:reverse!)
      (u8vector-copy! numeric:copy!)
      (u8vector-reverse-copy! numeric:reverse-copy!)
      (u8vector-unfold! numeric:unfold!)
      (u8vector-unfold-right! numeric:unfold-right!)
      (reverse-u8vector->list numeric:reverse->list)
      (reverse-list->u8vector numeric:reverse-list->)
      (u8vector->vector numeric:->vector)
      (vector->u8vector numeric:vector->)
      (make-u8vector-generator numeric:generator)
      (u8vector-comparator numeric:comparator)
      (write-u8vector numeric:write))))
