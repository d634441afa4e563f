(good 1)
)
(a . )
( . a)
(a . b c)
(a . b . c)
#(1 . 2)
. 
(a]
[b)
#\nosuchname
#\x110000
"bad \q escape" "bad \x41 hex" "\xD800;"
#u8(1 256) #u8(1 a) #u8(1.5)
#z #<procedure> #!nosuch #"x" #12 #1a
1/0 1.2.3 #xZZ #e1/0 a\b {x}
'(a ')
(a #;)
#0=
