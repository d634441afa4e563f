#!/usr/bin/env canny
; booleans, numbers
#t #true #f #false
0 -1 +5 1/2 6/4 1.5 .5 -0.0 1e3 1e400 +inf.0 -inf.0 +nan.0 1+2i +i -i 1@0 #xFF #b-101 #o17 #d10 #e1.5 #i1/2 #x#e1F #e#x1F
123456789012345678901234567890
; symbols
abc ABC + - ... -> ->x +x .x .. 1+ -1+ <=? !$%&*/:<=>?^_~ a.b |a b| |a\x41;\n\|| || foo|bar baz|qux λ été 中文 a@b
; characters
#\a #\A #\space #\newline #\tab #\nul #\null #\alarm #\backspace #\delete #\escape #\return #\( #\) #\; #\" #\# #\x #\x41 #\λ #\x3bb #\' #\| #\ 
; strings
"" "abc" "a\tb\n\r\a\b\"\\\|" "\x41;\x3bb;" "line one \
     continues" "two
lines" "tab	inside"
; specials, keywords
#!eof #!unspecific #!default #:key #:|a b| #!optional #!rest #!key
