import re

pattern = re.compile(r'(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)')
with open("inputs/server.log", encoding="utf-8") as file:
    text = file.read()
print(sum(int(match[4]) for match in pattern.finditer(text)))
