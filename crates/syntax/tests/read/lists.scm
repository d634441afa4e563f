() (a) (a b c) (a . b) (a b . c) (a . (b . (c . ()))) [a (b) c] ([a] . [b])
#() #(1 #(2) "x") #u8() #u8(0 1 255) #u8(#xFF #b1)
'a `a ,a ,@a '() ''a '(a . b) #'a #`a #,a #,@a (quote a b) (quote . a) (unquote @a)
(a.b) (a .b) (a . .b) (1 .5)
#;hidden (a #;b c #;(d e)) (#;a) #;#;a b c (a . b #;c) (a #;x . #;y b)
#| block #| nested |# still |# after #|||#
(a #| inside |# b); trailing
(a ; comment
 b)
