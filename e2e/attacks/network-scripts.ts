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

/** Sends datagrams to as many ports as possible of one address, each of which is a connection: `address count`. */
export const openConnections = `import socket, sys
address, count = sys.argv[1], int(sys.argv[2])
while count > 0:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for port in range(1, min(count, 5000) + 1):
        try:
            sender.sendto(b'', (address, port))
        except OSError:
            pass
    count -= 5000`

/** Sends DNS queries without waiting, and prints how many are answered: `gateway count`. */
export const floodQueries = `import socket, sys
query = bytes.fromhex('000101000001000000000000096c6f63616c686f7374000001' '0001')
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.setblocking(False)
answered = 0
def receive():
    global answered
    try:
        while client.recv(512):
            answered += 1
    except OSError:
        pass
for _ in range(int(sys.argv[2])):
    try:
        client.sendto(query, (sys.argv[1], 53))
    except OSError:
        pass
    receive()
client.settimeout(1)
receive()
print(answered)`

/** Opens TCP connections and prints how many were accepted: `address port count`. */
export const holdStreams = `import socket, sys
held = []
for _ in range(int(sys.argv[3])):
    try:
        held.append(socket.create_connection((sys.argv[1], int(sys.argv[2])), 2))
    except OSError:
        pass
print(len(held))`

/** Requests leases for invented hardware addresses, and prints how many it got: `count`. */
export const takeLeases = `import os, socket, struct, sys, time
own = bytes.fromhex(open('/sys/class/net/eth0/address').read().strip().replace(':', ''))
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
link.bind(('eth0', 0))
link.settimeout(0.3)
def checksum(data):
    total = sum(struct.unpack('!10H', data))
    while total >> 16:
        total = (total >> 16) + (total & 0xffff)
    return ~total & 0xffff
def request(client, number, options):
    bootp = struct.pack('!4BIHH', 1, 1, 6, 0, number, 0, 0x8000) + bytes(16) + client + bytes(202)
    bootp += bytes.fromhex('63825363') + options + b'\\xff' + bytes(40)
    udp = struct.pack('!4H', 68, 67, 8 + len(bootp), 0) + bootp
    header = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(4) + b'\\xff' * 4
    header = header[:10] + struct.pack('!H', checksum(header)) + header[12:]
    link.send(b'\\xff' * 6 + own + b'\\x08\\x00' + header + udp)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        try:
            frame = link.recv(2048)
        except OSError:
            return None
        if len(frame) > 282 and frame[34:38] == b'\\x00\\x43\\x00\\x44' and frame[46:50] == number.to_bytes(4, 'big'):
            return frame
leases = 0
for _ in range(int(sys.argv[1])):
    client, number = b'\\x02\\x5a' + os.urandom(4), int.from_bytes(os.urandom(4), 'big')
    offer = request(client, number, b'\\x35\\x01\\x01')
    if offer:
        wanted = b'\\x35\\x01\\x03\\x32\\x04' + offer[58:62] + b'\\x36\\x04' + offer[26:30]
        answer = request(client, number, wanted)
        leases += answer is not None and b'\\x35\\x01\\x05' in answer
    time.sleep(0.2)
print(leases)`

/** Prints `open` if a TCP connection succeeds: `address port`. */
export const connect = `import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 3).close()
    print('open')
except OSError as error:
    print(error)`

/** Asks a name server for the version of its program, or for a name: `gateway name class type`. */
export const ask = `import socket, struct, sys
labels = b''.join(bytes([len(part)]) + part.encode() for part in sys.argv[2].split('.'))
kind = struct.pack('!HH', int(sys.argv[4]), int(sys.argv[3]))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(10)
client.sendto(bytes.fromhex('000101000001000000000000') + labels + bytes(1) + kind, (sys.argv[1], 53))
print(client.recv(512)[7])`
