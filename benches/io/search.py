import re

pattern = re.compile(r'(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)')
total = 0
with open("inputs/server.log", encoding="utf-8") as file:
    for line in file:
        match = pattern.search(line)
        if match:
            total += int(match[4])
print(total)
