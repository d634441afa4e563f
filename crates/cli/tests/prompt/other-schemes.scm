(use-modules (srfi srfi-1))
(library (shapes) (export area) (import (rnrs)) (define area 1))
(require racket/list)
(struct point (x y))
(define (require what) (list 'mine what))
(require 5)
#lang racket
