#!/usr/bin/env canny
;;; A ray tracer: spheres on a chequered floor, with shadows and mirrors.
;;;
;;;     canny examples/ray-tracer.scm             draws in the terminal
;;;     canny examples/ray-tracer.scm FILE.ppm    writes a picture of 640 by 360 points
;;;
;;; A picture in PPM format can be opened by most programs that show pictures.

(import (scheme base)
        (scheme file)
        (scheme inexact)
        (scheme process-context)
        (scheme write))

;;; Vectors in space, also used as colours.

(define-record-type <point>
  (point x y z)
  point?
  (x point-x)
  (y point-y)
  (z point-z))

(define (add a b)
  (point (+ (point-x a) (point-x b)) (+ (point-y a) (point-y b)) (+ (point-z a) (point-z b))))
(define (subtract a b)
  (point (- (point-x a) (point-x b)) (- (point-y a) (point-y b)) (- (point-z a) (point-z b))))
(define (scale k a)
  (point (* k (point-x a)) (* k (point-y a)) (* k (point-z a))))
(define (dot a b)
  (+ (* (point-x a) (point-x b)) (* (point-y a) (point-y b)) (* (point-z a) (point-z b))))
(define (unit a)
  (scale (/ 1.0 (sqrt (dot a a))) a))
(define (reflect direction normal)
  (subtract direction (scale (* 2.0 (dot direction normal)) normal)))

;;; The scene.

(define-record-type <sphere>
  (sphere centre radius colour mirror)
  sphere?
  (centre sphere-centre)
  (radius sphere-radius)
  (colour sphere-colour)
  (mirror sphere-mirror))

(define spheres
  (list (sphere (point 0.0 1.0 6.0) 1.0 (point 0.9 0.2 0.2) 0.3)
        (sphere (point -2.2 0.8 5.0) 0.8 (point 0.2 0.4 0.9) 0.2)
        (sphere (point 1.9 0.6 4.4) 0.6 (point 0.95 0.75 0.2) 0.1)
        (sphere (point 2.8 1.6 8.0) 1.6 (point 0.8 0.8 0.8) 0.6)
        (sphere (point -0.7 0.35 3.6) 0.35 (point 0.3 0.8 0.4) 0.1)))

(define eye (point 0.0 1.4 -2.0))
(define light (unit (point -0.6 0.9 -0.7)))
(define depth-max 3)
;; Rays start this far from the surface that sends them, so as not to hit it.
(define gap 0.001)

;;; Where rays meet things.  A distance is #f when they do not.

(define (sphere-distance sphere origin direction)
  (let* ((to-centre (subtract (sphere-centre sphere) origin))
         (along (dot to-centre direction))
         (inside (- (* (sphere-radius sphere) (sphere-radius sphere))
                    (- (dot to-centre to-centre) (* along along)))))
    (and (> inside 0.0)
         (let* ((half (sqrt inside))
                (near (- along half))
                (far (+ along half)))
           (cond ((> near gap) near)
                 ((> far gap) far)
                 (else #f))))))

(define (floor-distance origin direction)
  (and (< (point-y direction) -0.0001)
       (let ((distance (/ (point-y origin) (- (point-y direction)))))
         (and (> distance gap) distance))))

;; Calls `hit` with the nearest sphere and its distance, or `miss`.
(define (nearest-sphere origin direction hit miss)
  (let loop ((rest spheres) (best #f) (best-distance #f))
    (if (null? rest)
        (if best (hit best best-distance) (miss))
        (let ((distance (sphere-distance (car rest) origin direction)))
          (if (and distance (or (not best) (< distance best-distance)))
              (loop (cdr rest) (car rest) distance)
              (loop (cdr rest) best best-distance))))))

(define (in-shadow? place)
  (nearest-sphere place light (lambda (sphere distance) #t) (lambda () #f)))

;;; Colours.

(define (sky direction)
  (let ((height (max 0.0 (point-y direction))))
    (add (scale (- 1.0 height) (point 0.85 0.9 1.0))
         (scale height (point 0.25 0.45 0.85)))))

(define (lit colour place normal)
  (let ((brightness (if (in-shadow? place) 0.0 (max 0.0 (dot normal light)))))
    (scale (+ 0.2 (* 0.8 brightness)) colour)))

(define (blend colour other share)
  (add (scale (- 1.0 share) colour) (scale share other)))

(define (sphere-colour-at sphere place direction depth)
  (let* ((normal (unit (subtract place (sphere-centre sphere))))
         (colour (lit (sphere-colour sphere) place normal)))
    (if (= depth depth-max)
        colour
        (blend colour
               (trace place (reflect direction normal) (+ depth 1))
               (sphere-mirror sphere)))))

(define (floor-colour place distance direction)
  (let* ((even (even? (exact (+ (floor (point-x place)) (floor (point-z place))))))
         (colour (if even (point 0.9 0.9 0.85) (point 0.25 0.3 0.25)))
         (haze (min 1.0 (/ distance 40.0))))
    (blend (lit colour place (point 0.0 1.0 0.0))
           (sky direction)
           haze)))

(define (trace origin direction depth)
  (define (at distance) (add origin (scale distance direction)))
  (let ((to-floor (floor-distance origin direction)))
    (define (beyond-spheres)
      (if to-floor
          (floor-colour (at to-floor) to-floor direction)
          (sky direction)))
    (nearest-sphere origin
                    direction
                    (lambda (sphere distance)
                      (if (and to-floor (< to-floor distance))
                          (beyond-spheres)
                          (sphere-colour-at sphere (at distance) direction depth)))
                    beyond-spheres)))

;; The colour of the point of the picture at a column and row; `aspect` is the width of a point
;; in heights of a point.
(define (picture-colour column row width height aspect)
  (let* ((size (/ 2.0 height))
         (x (* (- (+ column 0.5) (/ width 2.0)) size aspect))
         (y (* (- (/ height 2.0) (+ row 0.5)) size)))
    (trace eye (unit (point x (- y 0.15) 2.0)) 0)))

;;; Output.

(define (byte value)
  (exact (floor (* 255.999 (sqrt (max 0.0 (min 1.0 value)))))))

(define (write-ppm name width height)
  (call-with-port (open-binary-output-file name)
    (lambda (port)
      (write-bytevector
       (string->utf8 (string-append "P6 " (number->string width) " " (number->string height)
                                    " 255\n"))
       port)
      (do ((row 0 (+ row 1)))
          ((= row height))
        (do ((column 0 (+ column 1)))
            ((= column width))
          (let ((colour (picture-colour column row width height 1.0)))
            (write-u8 (byte (point-x colour)) port)
            (write-u8 (byte (point-y colour)) port)
            (write-u8 (byte (point-z colour)) port)))))))

(define shades " .:-=+*#%@")

(define (brightness colour)
  (+ (* 0.3 (point-x colour)) (* 0.59 (point-y colour)) (* 0.11 (point-z colour))))

(define (draw width height)
  (do ((row 0 (+ row 1)))
      ((= row height))
    (do ((column 0 (+ column 1)))
        ((= column width))
      (let* ((value (brightness (picture-colour column row width height 0.5)))
             (shade (exact (floor (* value (string-length shades))))))
        (write-char (string-ref shades (max 0 (min shade (- (string-length shades) 1)))))))
    (newline)))

(let ((arguments (cdr (command-line))))
  (if (null? arguments)
      (draw 100 36)
      (write-ppm (car arguments) 640 360)))
