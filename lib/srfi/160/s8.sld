;;; (srfi 160 s8): vectors of s8 elements.

(define-library (srfi 160 s8)
  (export
   make-s8vector s8vector s8vector-unfold s8vector-unfold-right s8vector-copy
   s8vector-reverse-copy s8vector-append s8vector-concatenate s8vector-append-subvectors s8?
   s8vector-empty? s8vector= s8vector-take s8vector-take-right s8vector-drop s8vector-drop-right
   s8vector-segment s8vector-fold s8vector-fold-right s8vector-map s8vector-map! s8vector-for-each
   s8vector-count s8vector-cumulate s8vector-take-while s8vector-take-while-right
   s8vector-drop-while s8vector-drop-while-right s8vector-index s8vector-index-right s8vector-skip
   s8vector-skip-right s8vector-any s8vector-every s8vector-partition s8vector-filter
   s8vector-remove s8vector-swap! s8vector-fill! s8vector-reverse! s8vector-copy!
   s8vector-reverse-copy! s8vector-unfold! s8vector-unfold-right! s8vector->list
   reverse-s8vector->list list->s8vector reverse-list->s8vector s8vector->vector vector->s8vector
   make-s8vector-generator s8vector-comparator write-s8vector s8vector? s8vector-length
   s8vector-ref s8vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/s8
      (s8vector-unfold numeric:unfold)
      (s8vector-unfold-right numeric:unfold-right)
      (s8vector-copy numeric:copy)
      (s8vector-reverse-copy numeric:reverse-copy)
      (s8vector-append numeric:append)
      (s8vector-concatenate numeric:concatenate)
      (s8vector-append-subvectors numeric:append-subvectors)
      (s8vector-empty? numeric:empty?)
      (s8vector= numeric:=)
      (s8vector-take numeric:take)
      (s8vector-take-right numeric:take-right)
      (s8vector-drop numeric:drop)
      (s8vector-drop-right numeric:drop-right)
      (s8vector-segment numeric:segment)
      (s8vector-fold numeric:fold)
      (s8vector-fold-right numeric:fold-right)
      (s8vector-map numeric:map)
      (s8vector-map! numeric:map!)
      (s8vector-for-each numeric:for-each)
      (s8vector-count numeric:count)
      (s8vector-cumulate numeric:cumulate)
      (s8vector-take-while numeric:take-while)
      (s8vector-take-while-right numeric:take-while-right)
      (s8vector-drop-while numeric:drop-while)
      (s8vector-drop-while-right numeric:drop-while-right)
      (s8vector-index numeric:index)
      (s8vector-index-right numeric:index-right)
      (s8vector-skip numeric:skip)
      (s8vector-skip-right numeric:skip-right)
      (s8vector-any numeric:any)
      (s8vector-every numeric:every)
      (s8vector-partition numeric:partition)
      (s8vector-filter numeric:filter)
      (s8vector-remove numeric:remove)
      (s8vector-swap! numeric:swap!)
      (s8vector-fill! numeric:fill!)
      (s8vector-reverse! numeric:reverse!)
      (s8vector-copy! numeric:copy!)
      (s8vector-reverse-copy! numeric:reverse-copy!)
      (s8vector-unfold! numeric:unfold!)
      (s8vector-unfold-right! numeric:unfold-right!)
      (reverse-s8vector->list numeric:reverse->list)
      (reverse-list->s8vector numeric:reverse-list->)
      (s8vector->vector numeric:->vector)
      (vector->s8vector numeric:vector->)
      (make-s8vector-generator numeric:generator)
      (s8vector-comparator numeric:comparator)
      (write-s8vector numeric:write))))
