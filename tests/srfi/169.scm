;; SRFI 169: underscores in numbers.

(import (scheme base) (scheme read) (srfi 169) (canny test))

(test 123 0_1_2_3)
(test -123 -0_123)
(test 123/4567 1_2_3/4_5_6_7)
(test 123.456 0_1_23.4_5_6)
(test 12e12 1_2e1_2)
(test -123.5-12.25i -12_3.5-1_2.2_5i)
(test 255 #xf_f)
(test 5 #b1_0_1)
(test 123 (string->number "1_2_3"))
(test 255 (string->number "F_F" 16))
(for-each
 (lambda (text) (test #f (string->number text)))
 '("_123" "123_" "1__2" "+_1" "1_/2" "1/_2" "1_.5" "1._5" "1.5_" "1_e5" "1e_5" "1e5_" "1_i" "+1_i"
   "1_@2" "1@_2"
   "+inf_.0" "#x_1" "_"))
;; Other words stay symbols.
(test '(a_1 _ _1) (read (open-input-string "(a_1 _ _1)")))

(test-finish)
