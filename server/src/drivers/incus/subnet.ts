import { readFile } from 'node:fs/promises'

/** An IPv4 network as a number and its mask. */
export type Subnet = { readonly address: number; readonly mask: number }

export function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text)
  if (!match) return undefined
  const [a, b, c, d, prefix] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  if (a > 255 || b > 255 || c > 255 || d > 255 || prefix > 32) return undefined
  const mask = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0
  return { address: ((a << 24) | (b << 16) | (c << 8) | d) >>> 0, mask }
}

export function overlap(a: Subnet, b: Subnet): boolean {
  const mask = (a.mask & b.mask) >>> 0
  return (a.address & mask) >>> 0 === (b.address & mask) >>> 0
}

/** The gateway's address of the first /20 network that overlaps none in use. */
export function chooseSubnet(used: readonly Subnet[]): string | undefined {
  // Home and office networks cluster at the ends of 10/8, so the search starts in between.
  for (let index = 0; index < 4096; index++) {
    const network = (index + 1424) % 4096
    const text = `10.${network >> 4}.${(network & 15) << 4}.1/20`
    const subnet = parseSubnet(text)!
    if (!used.some((other) => overlap(subnet, other))) return text
  }
  return undefined
}

/** The networks that this host has routes to, without the default route. */
export async function readHostRoutes(): Promise<Subnet[]> {
  const table = await readFile('/proc/net/route', 'utf8').catch(() => '')
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter((fields) => fields.length > 7)
    .map((fields) => ({ address: swap(fields[1]!), mask: swap(fields[7]!) }))
    .filter((subnet) => subnet.mask !== 0)
}

/** The kernel writes addresses as little-endian hexadecimal. */
function swap(hex: string): number {
  return Buffer.from(hex, 'hex').readUInt32LE(0)
}
