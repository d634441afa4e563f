wc -lc < inputs/ascii.txt | { read -r lines bytes; echo $((bytes - lines)); }
