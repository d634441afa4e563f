;;; (srfi 160 f32): vectors of f32 elements.

(define-library (srfi 160 f32)
  (export
   make-f32vector f32vector f32vector-unfold f32vector-unfold-right f32vector-copy
   f32vector-reverse-copy f32vector-append f32vector-concatenate f32vector-append-subvectors f32?
   f32vector-empty? f32vector= f32vector-take f32vector-take-right f32vector-drop
   f32vector-drop-right f32vector-segment f32vector-fold f32vector-fold-right f32vector-map
   f32vector-map! f32vector-for-each f32vector-count f32vector-cumulate f32vector-take-while
   f32vector-take-while-right f32vector-drop-while f32vector-drop-while-right f32vector-index
   f32vector-index-right f32vector-skip f32vector-skip-right f32vector-any f32vector-every
   f32vector-partition f32vector-filter f32vector-remove f32vector-swap! f32vector-fill!
   f32vector-reverse! f32vector-copy! f32vector-reverse-copy! f32vector-unfold!
   f32vector-unfold-right! f32vector->list reverse-f32vector->list list->f32vector
   reverse-list->f32vector f32vector->vector vector->f32vector make-f32vector-generator
   f32vector-comparator write-f32vector f32vector? f32vector-length f32vector-ref f32vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/f32
      (f32vector-unfold numeric:unfold)
      (f32vector-unfold-right numeric:unfold-right)
      (f32vector-copy numeric:copy)
      (f32vector-reverse-copy numeric:reverse-copy)
      (f32vector-append numeric:append)
      (f32vector-concatenate numeric:concatenate)
      (f32vector-append-subvectors numeric:append-subvectors)
      (f32vector-empty? numeric:empty?)
      (f32vector= numeric:=)
      (f32vector-take numeric:take)
      (f32vector-take-right numeric:take-right)
      (f32vector-drop numeric:drop)
      (f32vector-drop-right numeric:drop-right)
      (f32vector-segment numeric:segment)
      (f32vector-fold numeric:fold)
      (f32vector-fold-right numeric:fold-right)
      (f32vector-map numeric:map)
      (f32vector-map! numeric:map!)
      (f32vector-for-each numeric:for-each)
      (f32vector-count numeric:count)
      (f32vector-cumulate numeric:cumulate)
      (f32vector-take-while numeric:take-while)
      (f32vector-take-while-right numeric:take-while-right)
      (f32vector-drop-while numeric:drop-while)
      (f32vector-drop-while-right numeric:drop-while-right)
      (f32vector-index numeric:index)
      (f32vector-index-right numeric:index-right)
      (f32vector-skip numeric:skip)
      (f32vector-skip-right numeric:skip-right)
      (f32vector-any numeric:any)
      (f32vector-every numeric:every)
      (f32vector-partition numeric:partition)
      (f32vector-filter numeric:filter)
      (f32vector-remove numeric:remove)
      (f32vector-swap! numeric:swap!)
      (f32vector-fill! numeric:fill!)
      (f32vector-reverse! numeric:reverse!)
      (f32vector-copy! numeric:copy!)
      (f32vector-reverse-copy! numeric:reverse-copy!)
      (f32vector-unfold! numeric:unfold!)
      (f32vector-unfold-right! numeric:unfold-right!)
      (reverse-f32vector->list numeric:reverse->list)
      (reverse-list->f32vector numeric:reverse-list->)
      (f32vector->vector numeric:->vector)
      (vector->f32vector numeric:vector->)
      (make-f32vector-generator numeric:generator)
      (f32vector-comparator numeric:comparator)
      (write-f32vector numeric:write))))
