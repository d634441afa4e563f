import gzip

count = 0
with gzip.open("inputs/server.log.gz", "rt", encoding="utf-8") as file:
    for line in file:
        count += 1
print(count)
