(import (scheme base))
(car '(1)))
