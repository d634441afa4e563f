import re

pattern = re.compile(r'(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)')
count = 0
with open("inputs/server.log", encoding="utf-8") as file:
    for line in file:
        if pattern.search(line):
            count += 1
print(count)
