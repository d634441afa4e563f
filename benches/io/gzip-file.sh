gzip -6 -c inputs/records.json > outputs/records.json.gz
echo done
