(import (scheme base))
(string-set! "literal" 0 #\L)
