total = 0
with open("inputs/ascii.txt", encoding="utf-8") as file:
    for line in file:
        total += len(line.rstrip("\n"))
print(total)
