import csv

total = 0
with open("inputs/rows.csv", encoding="utf-8", newline="") as file:
    for row in csv.reader(file):
        total += len(row[7])
print(total)
