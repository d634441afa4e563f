import base64

with open("inputs/records.json", "rb") as file:
    data = file.read()
text = base64.b64encode(data).decode("ascii")
print(len(text), "same" if base64.b64decode(text) == data else "other")
