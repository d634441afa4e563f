(import (scheme base) (scheme wirte) (srfi 1000))
(display 1)
