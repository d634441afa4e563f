LC_ALL=C.UTF-8 wc -m < inputs/mixed.txt
