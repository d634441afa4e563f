;;; (canny supplies): push streams.
;;;
;;; A supply passes values to its taps, as they come. The emitter waits until they are taken.
;;;
;;;     (react
;;;       (whenever (line (process-lines '("make")))
;;;         (write-line line))
;;;       (whenever (tick (every 60))
;;;         (write-line "still at work"))
;;;       (whenever (signal (signals 'sigint))
;;;         (done)))
;;;
;;; | library | owns |
;;; |---|---|
;;; | `(canny supplies streams)` | taps, suppliers, who waits for whom |
;;; | `(canny supplies reactions)` | react and supply blocks |
;;; | `(canny supplies operators)` | supplies from supplies, from and to lists and generators |

(define-library (canny supplies)
  (export supply? supply-live?
          supplier? make-supplier supplier-supply supplier-emit! supplier-done! supplier-quit!
          tap tap? tap-open? tap-close!
          react whenever supply emit done
          on-demand-supply list->supply vector->supply generator->supply future->supply
          supply->list supply->future supply->generator supply-for-each supply-fold
          supply-map supply-filter supply-remove supply-do supply-scan supply-take supply-drop
          supply-take-while supply-distinct supply-changes
          supply-merge supply-append supply-zip supply-flatten
          supply-throttle supply-batch supply-buffer supply-share)
  (import (canny supplies streams) (canny supplies reactions) (canny supplies operators)))
