import os

with open("outputs/lines.txt", "w", encoding="utf-8") as file:
    for i in range(1000000):
        file.write(f"line {i}\n")
print(os.path.getsize("outputs/lines.txt"))
