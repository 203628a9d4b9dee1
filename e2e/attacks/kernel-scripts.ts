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
