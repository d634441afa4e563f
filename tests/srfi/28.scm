(import (scheme base) (srfi 28) (canny test))

(test "Hello, World!" (format "Hello, ~a" "World!"))
(test "Error, list is too short: (one \"two\" 3)\n"
      (format "Error, list is too short: ~s~%" '(one "two" 3)))
(test "~" (format "~~"))
(test-error (format "~a"))
(test-error (format "~q"))

(test-finish)
