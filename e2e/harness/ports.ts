import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that Linux gives to outgoing connections (32768 and up): one of those could take a port
 * between two uses of it, such as the end and the restart of a server.
 */
const [lowest, highest] = [20_000, 32_000]
const given = new Set<number>()

/** An unused port of the loopback address, which this process has not given to another caller before. */
export async function freePort(): Promise<number> {
  return freePorts(1)
}

/** The first of so many consecutive ones. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = randomInt(lowest, highest)
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if (ports.some((port) => given.has(port))) continue
    if ((await Promise.all(ports.map(isUnused))).includes(false)) continue
    for (const port of ports) given.add(port)
    return first
  }
}

async function isUnused(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
