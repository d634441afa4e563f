LC_ALL=C.UTF-8 wc -lm < inputs/mixed.txt | { read -r lines characters; echo $((characters - lines)); }
