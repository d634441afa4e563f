import csv
import os

with open("outputs/rows.csv", "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    for i in range(1000000):
        writer.writerow([i, "name", "plain text" if i % 2 == 0 else "one, two", i * 3, "end"])
print(os.path.getsize("outputs/rows.csv"))
