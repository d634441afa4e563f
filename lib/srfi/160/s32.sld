;;; (srfi 160 s32): vectors of s32 elements.

(define-library (srfi 160 s32)
  (export
   make-s32vector s32vector s32vector-unfold s32vector-unfold-right s32vector-copy
   s32vector-reverse-copy s32vector-append s32vector-concatenate s32vector-append-subvectors s32?
   s32vector-empty? s32vector= s32vector-take s32vector-take-right s32vector-drop
   s32vector-drop-right s32vector-segment s32vector-fold s32vector-fold-right s32vector-map
   s32vector-map! s32vector-for-each s32vector-count s32vector-cumulate s32vector-take-while
   s32vector-take-while-right s32vector-drop-while s32vector-drop-while-right s32vector-index
   s32vector-index-right s32vector-skip s32vector-skip-right s32vector-any s32vector-every
   s32vector-partition s32vector-filter s32vector-remove s32vector-swap! s32vector-fill!
   s32vector-reverse! s32vector-copy! s32vector-reverse-copy! s32vector-unfold!
   s32vector-unfold-right! s32vector->list reverse-s32vector->list list->s32vector
   reverse-list->s32vector s32vector->vector vector->s32vector make-s32vector-generator
   s32vector-comparator write-s32vector s32vector? s32vector-length s32vector-ref s32vector-set!)
  (import (canny machine protocols) (canny syntax) (canny data numeric-vectors)
          (srfi 160 base))
  (begin
    (define-numeric-procedures element-type/s32
      (s32vector-unfold numeric:unfold)
      (s32vector-unfold-right numeric:unfold-right)
      (s32vector-copy numeric:copy)
      (s32vector-reverse-copy numeric:reverse-copy)
      (s32vector-append numeric:append)
      (s32vector-concatenate numeric:concatenate)
      (s32vector-append-subvectors numeric:append-subvectors)
      (s32vector-empty? numeric:empty?)
      (s32vector= numeric:=)
      (s32vector-take numeric:take)
      (s32vector-take-right numeric:take-right)
      (s32vector-drop numeric:drop)
      (s32vector-drop-right numeric:drop-right)
      (s32vector-segment numeric:segment)
      (s32vector-fold numeric:fold)
      (s32vector-fold-right numeric:fold-right)
      (s32vector-map numeric:map)
      (s32vector-map! numeric:map!)
      (s32vector-for-each numeric:for-each)
      (s32vector-count numeric:count)
      (s32vector-cumulate numeric:cumulate)
      (s32vector-take-while numeric:take-while)
      (s32vector-take-while-right numeric:take-while-right)
      (s32vector-drop-while numeric:drop-while)
      (s32vector-drop-while-right numeric:drop-while-right)
      (s32vector-index numeric:index)
      (s32vector-index-right numeric:index-right)
      (s32vector-skip numeric:skip)
      (s32vector-skip-right numeric:skip-right)
      (s32vector-any numeric:any)
      (s32vector-every numeric:every)
      (s32vector-partition numeric:partition)
      (s32vector-filter numeric:filter)
      (s32vector-remove numeric:remove)
      (s32vector-swap! numeric:swap!)
      (s32vector-fill! numeric:fill!)
      (s32vector-reverse! numeric:reverse!)
      (s32vector-copy! numeric:copy!)
      (s32vector-reverse-copy! numeric:reverse-copy!)
      (s32vector-unfold! numeric:unfold!)
      (s32vector-unfold-right! numeric:unfold-right!)
      (reverse-s32vector->list numeric:reverse->list)
      (reverse-list->s32vector numeric:reverse-list->)
      (s32vector->vector numeric:->vector)
      (vector->s32vector numeric:vector->)
      (make-s32vector-generator numeric:generator)
      (s32vector-comparator numeric:comparator)
      (write-s32vector numeric:write))))
