import socket


def receive(source, piece):
    view = memoryview(piece)
    while view:
        view = view[source.recv_into(view):]


listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server = listener.accept()[0]
piece = bytearray(b"\x07" * 65536)
total = 0
for _ in range(16384):
    client.sendall(piece)
    receive(server, piece)
    server.sendall(piece)
    receive(client, piece)
    total += len(piece)
print(total)
