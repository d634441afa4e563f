import os

piece = bytearray(65536)
with open("inputs/server.log", "rb") as source, open("outputs/server.log", "wb") as target:
    while count := source.readinto(piece):
        target.write(memoryview(piece)[:count])
print(os.path.getsize("outputs/server.log"))
