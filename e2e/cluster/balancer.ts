import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Lifetime } from '../../server/test/harness.ts'

/** One address for several processes: each connection goes to the next port that accepts one. */
export async function startBalancer(
  t: Lifetime,
  port: number,
  ports: readonly number[],
): Promise<void> {
  const sockets = new Set<Socket>()
  let next = 0
  const pass = async (client: Socket) => {
    sockets.add(client)
    client.on('close', () => sockets.delete(client)).on('error', () => {})
    const order = ports.map((_, index) => ports[(next + index) % ports.length]!)
    next += 1
    const upstream = await findAccepting(order)
    if (!upstream) return void client.destroy()
    upstream.on('error', () => {}).on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
  }
  const server = createServer((client) => void pass(client))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
}

async function findAccepting(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    if (isOpen) return socket
  }
}
