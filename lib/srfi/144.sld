;;; (srfi 144): flonums.
;;;
;;; Arguments must be flonums, but for the few that are documented to be exact integers.  A function
;;; whose value would be complex gives a NaN.

(define-library (srfi 144)
  (export
   fl-e fl-1/e fl-e-2 fl-e-pi/4 fl-log2-e fl-log10-e fl-log-2 fl-1/log-2 fl-log-3 fl-log-pi
   fl-log-10 fl-1/log-10 fl-pi fl-1/pi fl-2pi fl-pi/2 fl-pi/4 fl-pi-squared fl-degree fl-2/pi
   fl-2/sqrt-pi fl-sqrt-2 fl-sqrt-3 fl-sqrt-5 fl-sqrt-10 fl-1/sqrt-2 fl-cbrt-2 fl-cbrt-3
   fl-4thrt-2 fl-phi fl-log-phi fl-1/log-phi fl-euler fl-e-euler fl-sin-1 fl-cos-1 fl-gamma-1/2
   fl-gamma-1/3 fl-gamma-2/3 fl-greatest fl-least fl-epsilon fl-fast-fl+*
   fl-integer-exponent-zero fl-integer-exponent-nan flonum fladjacent flcopysign make-flonum
   flinteger-fraction flexponent flinteger-exponent flnormalized-fraction-exponent flsign-bit
   flonum? fl=? fl<? fl>? fl<=? fl>=? flunordered? flinteger? flzero? flpositive? flnegative?
   flodd? fleven? flfinite? flinfinite? flnan? flnormalized? fldenormalized? flmax flmin fl+ fl*
   fl+* fl- fl/ flabs flabsdiff flposdiff flsgn flnumerator fldenominator flfloor flceiling
   flround fltruncate flexp flexp2 flexp-1 flsquare flsqrt flcbrt flhypot flexpt fllog fllog1+
   fllog2 fllog10 make-fllog-base flsin flcos fltan flasin flacos flatan flsinh flcosh fltanh
   flasinh flacosh flatanh flquotient flremainder flremquo flgamma flloggamma flfirst-bessel
   flsecond-bessel flerf flerfc)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    (define fl-e 2.718281828459045235360287)
    (define fl-1/e 0.367879441171442321595524)
    (define fl-e-2 7.389056098930650227230427)
    (define fl-e-pi/4 2.193280050738015456559770)
    (define fl-log2-e 1.442695040888963407359925)
    (define fl-log10-e 0.434294481903251827651129)
    (define fl-log-2 0.693147180559945309417232)
    (define fl-1/log-2 1.442695040888963407359925)
    (define fl-log-3 1.098612288668109691395245)
    (define fl-log-pi 1.144729885849400174143427)
    (define fl-log-10 2.302585092994045684017991)
    (define fl-1/log-10 0.434294481903251827651129)
    (define fl-pi 3.141592653589793238462643)
    (define fl-1/pi 0.318309886183790671537768)
    (define fl-2pi 6.283185307179586476925287)
    (define fl-pi/2 1.570796326794896619231322)
    (define fl-pi/4 0.785398163397448309615661)
    (define fl-pi-squared 9.869604401089358618834491)
    (define fl-degree 0.017453292519943295769237)
    (define fl-2/pi 0.636619772367581343075535)
    (define fl-2/sqrt-pi 1.128379167095512573896159)
    (define fl-sqrt-2 1.414213562373095048801689)
    (define fl-sqrt-3 1.732050807568877293527446)
    (define fl-sqrt-5 2.236067977499789696409174)
    (define fl-sqrt-10 3.162277660168379331998894)
    (define fl-1/sqrt-2 0.707106781186547524400844)
    (define fl-cbrt-2 1.259921049894873164767211)
    (define fl-cbrt-3 1.442249570307408382321638)
    (define fl-4thrt-2 1.189207115002721066717500)
    (define fl-phi 1.618033988749894848204587)
    (define fl-log-phi 0.481211825059603447497759)
    (define fl-1/log-phi 2.078086921235027537601322)
    (define fl-euler 0.577215664901532860606512)
    (define fl-e-euler 1.781072417990197985236504)
    (define fl-sin-1 0.841470984807896506652503)
    (define fl-cos-1 0.540302305868139717400937)
    (define fl-gamma-1/2 1.772453850905516027298167)
    (define fl-gamma-1/3 2.678938534707747633546593)
    (define fl-gamma-2/3 1.354117939426400416945288)

    (define fl-greatest 1.7976931348623157e308)
    (define fl-least 4.9406564584124654e-324)
    (define fl-epsilon 2.220446049250313e-16)
    (define fl-fast-fl+* #f)
    (define fl-integer-exponent-zero (- (expt 2 31)))
    (define fl-integer-exponent-nan (- (expt 2 31) 1))

    (define (check who position object)
      (if (not (flonum? object))
          (%type-error who position "flonum" object)))

    (define (check-all who arguments)
      (let loop ((rest arguments) (position 1))
        (if (pair? rest)
            (begin
              (check who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define-syntax define-unary
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define (name x)
             (check 'name 1 x)
             (operation x))
           ...))))

    (define-syntax define-binary
      (syntax-rules ()
        ((_ (name operation) ...)
         (begin
           (define (name x y)
             (check 'name 1 x)
             (check 'name 2 y)
             (operation x y))
           ...))))

    ;; Procedures that (canny primitives) lacks.
    (define-syntax define-functions
      (syntax-rules ()
        ((_ (name function) ...)
         (begin
           (define (name x)
             (check 'name 1 x)
             (%flonum-function function x))
           ...))))

    ;; Two arguments are the usual case; none give the neutral one.
    (define-syntax define-nary
      (syntax-rules ()
        ((_ (name operation neutral) ...)
         (begin
           (define name
             (case-lambda
               ((x y)
                (check 'name 1 x)
                (check 'name 2 y)
                (operation x y))
               ((x y z)
                (check 'name 1 x)
                (check 'name 2 y)
                (check 'name 3 z)
                (operation x y z))
               (() neutral)
               (arguments
                (check-all 'name arguments)
                (apply operation arguments))))
           ...))))

    ;; Constructors and accessors.

    (define (flonum number)
      (if (not (real? number))
          (%type-error 'flonum 1 "real number" number))
      (inexact number))

    (define (next-after x y) (%flonum-operation flonum-operation/adjacent x y))
    (define (copy-sign x y) (%flonum-operation flonum-operation/copysign x y))
    (define (hypotenuse x y) (%flonum-operation flonum-operation/hypot x y))

    (define-binary (fladjacent next-after) (flcopysign copy-sign) (flhypot hypotenuse))

    ;; A product with a power of two, or a quotient, is rounded once.
    (define (make-flonum x n)
      (if (and (flonum? x) (fixnum? n) (<= 0 n) (<= n 60))
          (* x (inexact (arithmetic-shift 1 n)))
          (make-any-flonum x n)))

    (define (make-any-flonum x n)
      (check 'make-flonum 1 x)
      (if (not (exact-integer? n))
          (%type-error 'make-flonum 2 "exact integer" n))
      (cond ((not (<= -60 n 60))
             (%flonum-operation flonum-operation/scale x (inexact (max -5000 (min 5000 n)))))
            ((< n 0) (/ x (inexact (arithmetic-shift 1 (- n)))))
            (else (* x (inexact (arithmetic-shift 1 n))))))

    (define (flinteger-fraction x)
      (check 'flinteger-fraction 1 x)
      (cond ((nan? x) (values x x))
            ((infinite? x) (values x (copy-sign 0.0 x)))
            (else
             (let ((integer (truncate x)))
               (values integer (copy-sign (- x integer) x))))))

    ;; The exponent of a positive finite flonum: 1.0 has 0.
    (define (binary-exponent x)
      (let* ((normal? (>= x 2.2250738585072014e-308))
             (bits (%flonum->bits (if normal? x (* x 18014398509481984.0)))))
        (- (bit-field bits 52 63) (if normal? 1023 1077))))

    (define (flexponent x)
      (check 'flexponent 1 x)
      (cond ((nan? x) x)
            ((infinite? x) +inf.0)
            ((zero? x) -inf.0)
            (else (inexact (binary-exponent (abs x))))))

    (define (flinteger-exponent x)
      (check 'flinteger-exponent 1 x)
      (cond ((nan? x) fl-integer-exponent-nan)
            ((infinite? x) fl-integer-exponent-nan)
            ((zero? x) fl-integer-exponent-zero)
            (else (binary-exponent (abs x)))))

    (define (flnormalized-fraction-exponent x)
      (check 'flnormalized-fraction-exponent 1 x)
      (cond ((or (nan? x) (zero? x)) (values x 0))
            ;; Times two to that power it is infinite again.
            ((infinite? x) (values (copy-sign 0.5 x) 1025))
            (else
             (let ((exponent (+ 1 (binary-exponent (abs x)))))
               ;; In two steps: the scale of the smallest flonums is out of range.
               (values (make-flonum (make-flonum x (- (quotient exponent 2)))
                                    (- (quotient exponent 2) exponent))
                       exponent)))))

    (define (flsign-bit x)
      (check 'flsign-bit 1 x)
      (arithmetic-shift (%flonum->bits x) -63))

    ;; Predicates.

    (define-nary
      (fl=? = #t) (fl<? < #t) (fl>? > #t) (fl<=? <= #t) (fl>=? >= #t)
      (fl+ + 0.0) (fl* * 1.0))

    (define (unordered? x y) (or (nan? x) (nan? y)))
    (define (absolute-difference x y) (abs (- x y)))
    (define (positive-difference x y) (if (<= x y) 0.0 (- x y)))

    (define-binary
      (flunordered? unordered?) (flabsdiff absolute-difference) (flposdiff positive-difference))

    (define (normalized? x)
      (and (finite? x) (>= (abs x) 2.2250738585072014e-308)))
    (define (denormalized? x)
      (and (< (abs x) 2.2250738585072014e-308) (not (zero? x))))

    (define-unary
      (flinteger? integer?) (flzero? zero?) (flpositive? positive?) (flnegative? negative?)
      (flodd? odd?) (fleven? even?) (flfinite? finite?) (flinfinite? infinite?) (flnan? nan?)
      (flnormalized? normalized?) (fldenormalized? denormalized?))

    ;; Arithmetic.

    ;; A NaN counts only when there is nothing else.
    (define-syntax define-extreme
      (syntax-rules ()
        ((_ name better? neutral)
         (begin
           (define (best-of x y)
             (if (or (nan? x) (better? y x)) y x))
           (define name
             (case-lambda
               ((x y)
                (check 'name 1 x)
                (check 'name 2 y)
                (best-of x y))
               ((x y z)
                (check 'name 1 x)
                (check 'name 2 y)
                (check 'name 3 z)
                (best-of (best-of x y) z))
               (() neutral)
               (arguments
                (check-all 'name arguments)
                (let loop ((best (car arguments)) (rest (cdr arguments)))
                  (if (null? rest)
                      best
                      (loop (best-of best (car rest)) (cdr rest)))))))))))

    (define-extreme flmax > -inf.0)
    (define-extreme flmin < +inf.0)

    (define fl-
      (case-lambda
        ((x y)
         (check 'fl- 1 x)
         (check 'fl- 2 y)
         (- x y))
        ((x)
         (check 'fl- 1 x)
         (- x))
        ((x . rest)
         (check-all 'fl- (cons x rest))
         (apply - x rest))))

    (define fl/
      (case-lambda
        ((x y)
         (check 'fl/ 1 x)
         (check 'fl/ 2 y)
         (/ x y))
        ((x)
         (check 'fl/ 1 x)
         (/ x))
        ((x . rest)
         (check-all 'fl/ (cons x rest))
         (apply / x rest))))

    (define (fl+* x y z)
      (check 'fl+* 1 x)
      (check 'fl+* 2 y)
      (check 'fl+* 3 z)
      (%flonum-multiply-add x y z))

    (define (sign x)
      (cond ((> x 0.0) 1.0)
            ((< x 0.0) -1.0)
            (else (copy-sign 1.0 x))))
    (define (numerator-of x) (if (finite? x) (numerator x) x))
    (define (denominator-of x)
      (cond ((nan? x) x)
            ((infinite? x) 1.0)
            (else (denominator x))))

    (define-unary
      (flabs abs) (flsgn sign) (flnumerator numerator-of) (fldenominator denominator-of)
      (flfloor floor) (flceiling ceiling) (flround round) (fltruncate truncate)
      (flsquare square))

    ;; Exponents and logarithms. The result is a NaN if that of the general function is not real.

    (define (real-or-nan x)
      (if (real? x) x +nan.0))

    (define (real-sqrt x) (if (negative? x) +nan.0 (sqrt x)))
    (define (real-asin x) (if (<= -1.0 x 1.0) (asin x) +nan.0))
    (define (real-acos x) (if (<= -1.0 x 1.0) (acos x) +nan.0))
    (define (real-expt x y) (real-or-nan (expt x y)))

    (define (natural-log x)
      (cond ((zero? x) -inf.0)
            ((negative? x) +nan.0)
            (else (log x))))

    (define-unary
      (flexp exp) (flsqrt real-sqrt) (fllog natural-log)
      (flsin sin) (flcos cos) (fltan tan) (flasin real-asin) (flacos real-acos))

    (define-binary (flexpt real-expt))

    (define-functions
      (flexp2 flonum-function/exp2) (flexp-1 flonum-function/exp-1)
      (flcbrt flonum-function/cbrt) (fllog1+ flonum-function/log1+)
      (fllog2 flonum-function/log2) (fllog10 flonum-function/log10)
      (flsinh flonum-function/sinh) (flcosh flonum-function/cosh)
      (fltanh flonum-function/tanh) (flasinh flonum-function/asinh)
      (flacosh flonum-function/acosh) (flatanh flonum-function/atanh)
      (flgamma flonum-function/gamma)
      (flerf flonum-function/erf) (flerfc flonum-function/erfc))

    (define (make-fllog-base base)
      (check 'make-fllog-base 1 base)
      (if (not (> base 1.0))
          (%range-error 'make-fllog-base 1 "above one" base))
      (cond ((= base 2.0) fllog2)
            ((= base 10.0) fllog10)
            (else
             (let ((scale (log base)))
               (lambda (x) (/ (fllog x) scale))))))

    (define flatan
      (case-lambda
        ((x)
         (check 'flatan 1 x)
         (atan x))
        ((y x)
         (check 'flatan 1 y)
         (check 'flatan 2 x)
         (atan y x))))

    ;; Division.

    (define (truncated-quotient x y) (truncate (/ x y)))
    (define (truncated-remainder x y)
      (cond ((or (nan? x) (nan? y) (infinite? x) (zero? y)) +nan.0)
            ((infinite? y) x)
            ;; Integers that a double has exactly, and so are the product and the difference.
            ((and (integer? x)
                  (integer? y)
                  (< (abs x) 9007199254740992.0)
                  (< (abs y) 9007199254740992.0))
             (- x (* y (truncate (/ x y)))))
            ((and (integer? x) (integer? y)) (truncate-remainder x y))
            (else
             (let ((x (exact x)) (y (exact y)))
               (inexact (- x (* y (truncate (/ x y)))))))))

    (define-binary (flquotient truncated-quotient) (flremainder truncated-remainder))

    (define (flremquo x y)
      (check 'flremquo 1 x)
      (check 'flremquo 2 y)
      (values (%flonum-operation flonum-operation/remainder x y)
              (let ((bits (%flonum-operation flonum-operation/quotient-bits x y)))
                (exact bits))))

    ;; Special functions.

    (define (flloggamma x)
      (check 'flloggamma 1 x)
      (values (%flonum-function flonum-function/loggamma x)
              (if (and (negative? x) (finite? x) (odd? (floor x))) -1.0 1.0)))

    (define (check-order who n)
      (if (not (and (exact-nonnegative-integer? n) (< n 1000000)))
          (%type-error who 1 "exact non-negative integer below 1000000" n)))

    (define (flfirst-bessel n x)
      (check-order 'flfirst-bessel n)
      (check 'flfirst-bessel 2 x)
      (%flonum-operation flonum-operation/first-bessel (inexact n) x))

    (define (flsecond-bessel n x)
      (check-order 'flsecond-bessel n)
      (check 'flsecond-bessel 2 x)
      (%flonum-operation flonum-operation/second-bessel (inexact n) x))))
