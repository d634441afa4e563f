with open("inputs/mixed.txt", encoding="utf-8") as file:
    print(len(file.read()))
