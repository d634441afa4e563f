import gzip

with open("inputs/records.json", "rb") as file:
    data = file.read()
with gzip.open("outputs/records.json.gz", "wb", compresslevel=6) as file:
    file.write(data)
print("done")
