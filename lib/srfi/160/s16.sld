;;; (srfi 160 s16): vectors of s16 elements.

(define-library (srfi 160 s16)
  (export
   make-s16vector s16vector s16vector-unfold s16vector-unfold-right s16vector-copy
   s16vector-reverse-copy s16vector-append s16vector-concatenate s16vector-append-subvectors s16?
   s16vector-empty? s16vector= s16vector-take s16vector-take-right s16vector-drop
   s16vector-drop-right s16vector-segment s16vector-fold s16vector-fold-right s16vector-map
   s16vector-map! s16vector-for-each s16vector-count s16vector-cumulate s16vector-take-while
   s16vector-take-while-right s16vector-drop-while s16vector-drop-while-right s16vector-index
   s16vector-index-right s16vector-skip s16vector-skip-right s16vector-any s16vector-every
   s16vector-partition s16vector-filter s16vector-remove s16vector-swap! s16vector-fill!
   s16vector-reverse! s16vector-copy! s16vector-reverse-copy! s16vector-unfold!
   s16vector-unfold-right! s16vector->list reverse-s16vector->list list->s16vector
   reverse-list->s16vector s16vector->vector vector->s16vector make-s16vector-generator
   s16vector-comparator write-s16vector s16vector? s16vector-length s16vector-ref s16vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/s16
      (s16vector-unfold numeric:unfold)
      (s16vector-unfold-right numeric:unfold-right)
      (s16vector-copy numeric:copy)
      (s16vector-reverse-copy numeric:reverse-copy)
      (s16vector-append numeric:append)
      (s16vector-concatenate numeric:concatenate)
      (s16vector-append-subvectors numeric:append-subvectors)
      (s16vector-empty? numeric:empty?)
      (s16vector= numeric:=)
      (s16vector-take numeric:take)
      (s16vector-take-right numeric:take-right)
      (s16vector-drop numeric:drop)
      (s16vector-drop-right numeric:drop-right)
      (s16vector-segment numeric:segment)
      (s16vector-fold numeric:fold)
      (s16vector-fold-right numeric:fold-right)
      (s16vector-map numeric:map)
      (s16vector-map! numeric:map!)
      (s16vector-for-each numeric:for-each)
      (s16vector-count numeric:count)
      (s16vector-cumulate numeric:cumulate)
      (s16vector-take-while numeric:take-while)
      (s16vector-take-while-right numeric:take-while-right)
      (s16vector-drop-while numeric:drop-while)
      (s16vector-drop-while-right numeric:drop-while-right)
      (s16vector-index numeric:index)
      (s16vector-index-right numeric:index-right)
      (s16vector-skip numeric:skip)
      (s16vector-skip-right numeric:skip-right)
      (s16vector-any numeric:any)
      (s16vector-every numeric:every)
      (s16vector-partition numeric:partition)
      (s16vector-filter numeric:filter)
      (s16vector-remove numeric:remove)
      (s16vector-swap! numeric:swap!)
      (s16vector-fill! numeric:fill!)
      (s16vector-reverse! numeric:reverse!)
      (s16vector-copy! numeric:copy!)
      (s16vector-reverse-copy! numeric:reverse-copy!)
      (s16vector-unfold! numeric:unfold!)
      (s16vector-unfold-right! numeric:unfold-right!)
      (reverse-s16vector->list numeric:reverse->list)
      (reverse-list->s16vector numeric:reverse-list->)
      (s16vector->vector numeric:->vector)
      (vector->s16vector numeric:vector->)
      (make-s16vector-generator numeric:generator)
      (s16vector-comparator numeric:comparator)
      (write-s16vector numeric:write))))
