;;; (srfi 160 s64): vectors of s64 elements.

(define-library (srfi 160 s64)
  (export
   make-s64vector s64vector s64vector-unfold s64vector-unfold-right s64vector-copy
   s64vector-reverse-copy s64vector-append s64vector-concatenate s64vector-append-subvectors s64?
   s64vector-empty? s64vector= s64vector-take s64vector-take-right s64vector-drop
   s64vector-drop-right s64vector-segment s64vector-fold s64vector-fold-right s64vector-map
   s64vector-map! s64vector-for-each s64vector-count s64vector-cumulate s64vector-take-while
   s64vector-take-while-right s64vector-drop-while s64vector-drop-while-right s64vector-index
   s64vector-index-right s64vector-skip s64vector-skip-right s64vector-any s64vector-every
   s64vector-partition s64vector-filter s64vector-remove s64vector-swap! s64vector-fill!
   s64vector-reverse! s64vector-copy! s64vector-reverse-copy! s64vector-unfold!
   s64vector-unfold-right! s64vector->list reverse-s64vector->list list->s64vector
   reverse-list->s64vector s64vector->vector vector->s64vector make-s64vector-generator
   s64vector-comparator write-s64vector s64vector? s64vector-length s64vector-ref s64vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/s64
      (s64vector-unfold numeric:unfold)
      (s64vector-unfold-right numeric:unfold-right)
      (s64vector-copy numeric:copy)
      (s64vector-reverse-copy numeric:reverse-copy)
      (s64vector-append numeric:append)
      (s64vector-concatenate numeric:concatenate)
      (s64vector-append-subvectors numeric:append-subvectors)
      (s64vector-empty? numeric:empty?)
      (s64vector= numeric:=)
      (s64vector-take numeric:take)
      (s64vector-take-right numeric:take-right)
      (s64vector-drop numeric:drop)
      (s64vector-drop-right numeric:drop-right)
      (s64vector-segment numeric:segment)
      (s64vector-fold numeric:fold)
      (s64vector-fold-right numeric:fold-right)
      (s64vector-map numeric:map)
      (s64vector-map! numeric:map!)
      (s64vector-for-each numeric:for-each)
      (s64vector-count numeric:count)
      (s64vector-cumulate numeric:cumulate)
      (s64vector-take-while numeric:take-while)
      (s64vector-take-while-right numeric:take-while-right)
      (s64vector-drop-while numeric:drop-while)
      (s64vector-drop-while-right numeric:drop-while-right)
      (s64vector-index numeric:index)
      (s64vector-index-right numeric:index-right)
      (s64vector-skip numeric:skip)
      (s64vector-skip-right numeric:skip-right)
      (s64vector-any numeric:any)
      (s64vector-every numeric:every)
      (s64vector-partition numeric:partition)
      (s64vector-filter numeric:filter)
      (s64vector-remove numeric:remove)
      (s64vector-swap! numeric:swap!)
      (s64vector-fill! numeric:fill!)
      (s64vector-reverse! numeric:reverse!)
      (s64vector-copy! numeric:copy!)
      (s64vector-reverse-copy! numeric:reverse-copy!)
      (s64vector-unfold! numeric:unfold!)
      (s64vector-unfold-right! numeric:unfold-right!)
      (reverse-s64vector->list numeric:reverse->list)
      (reverse-list->s64vector numeric:reverse-list->)
      (s64vector->vector numeric:->vector)
      (vector->s64vector numeric:vector->)
      (make-s64vector-generator numeric:generator)
      (s64vector-comparator numeric:comparator)
      (write-s64vector numeric:write))))
