base64 -w 0 inputs/records.json > outputs/text
base64 -d outputs/text | cmp -s - inputs/records.json && echo "$(wc -c < outputs/text) same"
