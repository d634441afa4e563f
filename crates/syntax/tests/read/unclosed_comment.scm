(a b #| never closed
 (c)
