import json

with open("inputs/records.json", encoding="utf-8") as file:
    records = json.load(file)
with open("outputs/records.json", "w", encoding="utf-8") as file:
    file.write(json.dumps(records, ensure_ascii=False, separators=(",", ":")))
print(len(records))
