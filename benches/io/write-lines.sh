seq -f "line %.0f" 0 999999 > outputs/lines.txt
wc -c < outputs/lines.txt
