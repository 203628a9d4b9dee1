import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'

/** The host's address on the link to the outside. */
export const linkAddress = '10.254.254.1'
const peerAddress = '10.254.254.2'

/**
 * Stands in for the internet, which the tests must not disturb: a network namespace with these addresses,
 * which answers TCP connections to port 80. The host routes the addresses to it.
 */
export async function startOutside(addresses: readonly string[]): Promise<Disposable> {
  const name = `ct${randomBytes(4).toString('hex')}`
  const ip = (...args: string[]) => execFileSync('ip', args)
  ip('netns', 'add', name)
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  ip('address', 'add', `${linkAddress}/30`, 'dev', name)
  ip('link', 'set', name, 'up')
  ip('-n', name, 'link', 'set', 'lo', 'up')
  ip('-n', name, 'link', 'set', 'eth0', 'up')
  ip('-n', name, 'address', 'add', `${peerAddress}/30`, 'dev', 'eth0')
  for (const address of addresses) {
    ip('-n', name, 'address', 'add', `${address}/32`, 'dev', 'lo')
    ip('route', 'add', `${address}/32`, 'via', peerAddress)
  }
  const listening = ['socat', '-d', '-d', 'TCP-LISTEN:80,fork,reuseaddr', 'SYSTEM:echo found']
  const server = spawn('ip', ['netns', 'exec', name, ...listening], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // It reports that it listens.
  await once(server.stderr, 'data')
  server.stderr.resume()
  return {
    [Symbol.dispose]() {
      server.kill()
      // The link is deleted with the namespace, and the routes with the link.
      ip('netns', 'delete', name)
    },
  }
}
