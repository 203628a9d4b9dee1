/* Python scripts that root of a machine runs against the kernel. */

/**
 * Makes calls by 64-bit and 32-bit number, and prints the error of each: `[[number, number32], …]`.
 * The 32-bit way in is machine code: the C library of a 64-bit program has none.
 */
export const makeCalls = `import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, 4096, 7, 0x22 | 0x40, -1, 0)
code = bytes.fromhex('5389f831db31c931d2cd805bc3')
ctypes.memmove(page, code, len(code))
call32 = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(page)
def call(number):
    ctypes.set_errno(0)
    return 'none' if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 else errno.errorcode[ctypes.get_errno()]
def call_32(number):
    result = call32(number)
    return 'none' if result >= 0 else errno.errorcode[-result]
assert call_32(20) == 'none'
print(json.dumps([[call(native), call_32(other)] for native, other in json.loads(sys.argv[1])]))`

/** Prints the families of sockets that can be opened, also with upper bits that the kernel ignores. */
export const openFamilies = `import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
def opens(family):
    calls = [[family | high, kind, 0] for high in (0, 1 << 32) for kind in (1, 2, 3, 5)]
    return any(libc.syscall(41, *map(ctypes.c_long, call)) >= 0 for call in calls)
print(json.dumps([family for family in range(64) if opens(family)]))`

/**
 * A process that waits for a file system that it serves itself, and that it never answers. Prints a line
 * when it waits.
 */
export const serveItself = `import ctypes, os, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
device = os.open('/dev/fuse', os.O_RDWR)
options = b'fd=%d,rootmode=40000,user_id=0,group_id=0' % device
assert libc.mount(b'none', b'/mnt', b'fuse', 0, options) == 0
threading.Thread(target=os.stat, args=['/mnt/file']).start()
while True:
    request = os.read(device, 1 << 17)
    _, operation, number = struct.unpack('<IIQ', request[:16])
    if operation == 26: # INIT
        body = struct.pack('<IIIIHHI', 7, 31, 65536, 0, 16, 12, 65536) + bytes(40)
        os.write(device, struct.pack('<IiQ', 16 + len(body), 0, number) + body)
    else:
        print('waits', flush=True)`

/** Freezes a process in a group of the guest's own, where the guest may make one. */
export const freezeOne = `sleep 1000 >/dev/null 2>&1 & pid=$!
if cd /sys/fs/cgroup/freezer 2>/dev/null
then mkdir own && echo $pid > own/cgroup.procs && echo FROZEN > own/freezer.state && cat own/freezer.state
else cd /sys/fs/cgroup && mkdir own && echo $pid > own/cgroup.procs && echo 1 > own/cgroup.freeze && cat own/cgroup.events
fi 2>&1 || true`

/**
 * Takes as many of something as it can: `kind count`. Prints how many it holds, and holds them until it
 * is killed. Several processes share the work, because each has a limit of its own on open files.
 */
export const hold = `import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), kind)
    return result
def terminal():
    return os.open('/run/terminals/ptmx', os.O_RDWR | os.O_NOCTTY)
def context():
    check(libc.syscall(206, 16000, ctypes.byref(ctypes.c_ulong(0))))
def queue():
    check(libc.syscall(240, b'held-%d-%d' % (os.getpid(), len(held)), 0o102, 0o600, 0))
def namespace():
    check(libc.unshare(0x04000000))
    return os.open('/proc/self/ns/uts', os.O_RDONLY)
takers = {
    'inotify instances': lambda: check(libc.inotify_init()),
    'fanotify groups': lambda: check(libc.fanotify_init(0x200, 0)),
    'asynchronous I/O contexts': context,
    'terminals': terminal,
    'message queues': queue,
    'name spaces': namespace,
}
kind, count, held = sys.argv[1], int(sys.argv[2]), []
if kind == 'terminals':
    os.makedirs('/run/terminals', exist_ok=True)
    libc.mount(b'devpts', b'/run/terminals', b'devpts', 0, b'ptmxmode=666')
_, files = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
share = min(files - 100, 15000)
total = 0
while total < count:
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            while len(held) < min(share, count - total):
                held.append(takers[kind]())
        except OSError as error:
            os.write(2, (str(error) + '\\n').encode())
        os.write(writer, b'%d\\n' % len(held))
        os.close(writer)
        signal.pause()
    os.close(writer)
    taken = int(os.read(reader, 20) or 0)
    total += taken
    if taken == 0:
        break
print(total, flush=True)
signal.pause()`
