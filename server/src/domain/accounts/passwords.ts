import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { createPasswordQueue } from './password-queue.ts'

/*
 * Passwords are stored as Argon2id hashes in the PHC format, which contains the parameters. After a
 * change of `current`, each password is rehashed at its owner's next sign-in.
 */

/** OWASP's recommendation: 19 MiB, 2 passes, 1 lane. */
const current: Parameters = { memory: 19_456, passes: 2, parallelism: 1 }
const nonceLength = 16
const tagLength = 32

/** Bounds memory, and leaves threads of libuv's pool free. */
const queue = createPasswordQueue({ maxAtOnce: 2, maxWaiting: 32, maxWaitingPerNetwork: 8 })

type Parameters = { readonly memory: number; readonly passes: number; readonly parallelism: number }
type Hash = Parameters & { readonly nonce: Buffer; readonly tag: Buffer }

/** Give the network of callers who have proved nothing yet: if too many wait, they are refused. */
export async function hashPassword(
  password: string,
  network: string | null = null,
): Promise<string> {
  const nonce = randomBytes(nonceLength)
  return format({ ...current, nonce, tag: await derive(password, { ...current, nonce }, network) })
}

/**
 * Compares a password with a stored hash. Without a hash (no such account, or no password) it does the
 * same work against a random hash, so that the time reveals nothing.
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  network: string | null = null,
): Promise<boolean> {
  const hash = stored === null ? decoy : parse(stored)
  const tag = await derive(password, hash, network)
  return timingSafeEqual(tag, hash.tag) && stored !== null
}

/** Whether a hash was made with parameters other than `current`. */
export function isOutdated(stored: string): boolean {
  const { memory, passes, parallelism } = parse(stored)
  return (
    memory !== current.memory || passes !== current.passes || parallelism !== current.parallelism
  )
}

const decoy: Hash = {
  ...current,
  nonce: randomBytes(nonceLength),
  tag: randomBytes(tagLength),
}

async function derive(
  password: string,
  { nonce, memory, passes, parallelism }: Omit<Hash, 'tag'>,
  network: string | null,
): Promise<Buffer> {
  // Keyboards differ in how they compose accented letters.
  const message = Buffer.from(password.normalize('NFKC'))
  const parameters = { message, nonce, memory, passes, parallelism, tagLength }
  return queue.run(
    network,
    () =>
      new Promise<Buffer>((resolve, reject) => {
        argon2('argon2id', parameters, (error, tag) => (error ? reject(error) : resolve(tag)))
      }),
  )
}

function format({ memory, passes, parallelism, nonce, tag }: Hash): string {
  const settings = `m=${memory},t=${passes},p=${parallelism}`
  return `$argon2id$v=19$${settings}$${encode(nonce)}$${encode(tag)}`
}

const shape = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/

function parse(stored: string): Hash {
  const [, memory, passes, parallelism, nonce, tag] = shape.exec(stored) ?? []
  if (!nonce || !tag) throw new Error('a stored password hash is malformed')
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

/** Base 64 without padding, as the PHC format requires. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
