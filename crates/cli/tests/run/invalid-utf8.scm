(import (scheme base) (scheme write))
(display "ÿþ")
