import os
import shutil

shutil.copyfile("inputs/server.log", "outputs/server.log")
print(os.path.getsize("outputs/server.log"))
