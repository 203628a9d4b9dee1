/* Python scripts that root of a machine runs against the network. */

/** Sends frames with a forged source address for some seconds: `address seconds`. */
export const forgeAddress = `import socket, sys, time
forged, seconds = bytes.fromhex(sys.argv[1].replace(':', '')), float(sys.argv[2])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(('eth0', 0))
link.setblocking(False)
received, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    link.send(b'\\xff' * 6 + forged + b'\\x88\\xb5' + bytes(46))
    time.sleep(0.001)
    try:
        while True:
            received += link.recv(2048)[:6] == forged
    except BlockingIOError:
        pass
print(received)`

/** Sends frames, each with a source address of its own that begins with 02:5a: `count`. */
export const inventAddresses = `import os, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(('eth0', 0))
for _ in range(int(sys.argv[1])):
    link.send(b'\\xff' * 6 + b'\\x02\\x5a' + os.urandom(4) + b'\\x88\\xb5' + bytes(46))`

/** Sends DNS queries one after the other and prints how many were answered: `gateway count`. */
export const countAnswers = `import socket, sys, time
query = bytes.fromhex('000101000001000000000000096c6f63616c686f7374000001' '0001')
answered = 0
for _ in range(int(sys.argv[2])):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(1)
    client.sendto(query, (sys.argv[1], 53))
    try:
        answered += len(client.recv(512)) > 0
    except OSError:
        pass
    client.close()
    time.sleep(0.01)
print(answered)`
