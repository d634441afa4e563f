import json

with open("inputs/records.json", encoding="utf-8") as file:
    print(len(json.load(file)))
