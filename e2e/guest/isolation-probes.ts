import { createServer, type AddressInfo, type Server } from 'node:net'

/** A question for the address of `localhost`. */
export const dnsQuery = '000101000001000000000000096c6f63616c686f737400' + '00010001'

/** Each of the four calls, plain and with upper bits that the kernel ignores. */
export const subvolumes = `import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 4
folder = os.open('/root', os.O_RDONLY)
def attempt(call):
    arguments = ctypes.create_string_buffer(4096)
    arguments[56:59] = b'sub'
    libc.syscall(16, folder, call, ctypes.addressof(arguments))
    return errno.errorcode[ctypes.get_errno()]
calls = [0x5000940e, 0x50009418, 0x50009401, 0x50009417]
print(*[attempt(call) for call in calls], *[attempt(call | 1 << 32) for call in calls])`

/** Something to find on the host, on every address that it has. */
export async function listen(t: { after(fn: () => void): void }): Promise<number> {
  const server: Server = createServer((socket) => socket.end('found'))
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}
