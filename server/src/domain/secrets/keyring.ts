import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

/*
 * Encryption of values in the database: AES-256-GCM with the keys of a keyring, which is stored apart from
 * it. The first key encrypts and all keys decrypt, so keys can be replaced without downtime. The row that
 * a value belongs to is bound to it as associated data: copied to another row, it does not open.
 *
 * A sealed value: 1 (the format), id of the key (8 bytes), nonce (12), ciphertext, tag (16).
 */
export type Keyring = readonly [Key, ...Key[]]

export class Key {
  /** A hash of the key, safe to store and log. */
  readonly id: Buffer
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    if (bytes.length !== 32) throw new Error('a key has 32 bytes')
    this.#bytes = bytes
    this.id = createHash('sha256').update('key id\0').update(bytes).digest().subarray(0, idBytes)
  }

  static generate(): Key {
    return new Key(randomBytes(32))
  }

  /** Only for the keyring's file. */
  export(): string {
    return this.#bytes.toString('base64')
  }

  /** Other bytes for each purpose, from which the key cannot be computed. */
  derive(purpose: string): Buffer {
    return createHmac('sha256', this.#bytes).update('derive\0').update(purpose).digest()
  }

  seal(plain: Buffer, context: readonly string[]): Buffer {
    const head = Buffer.concat([format, this.id])
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#bytes, nonce)
    cipher.setAAD(bind(head, context))
    return Buffer.concat([head, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  open(sealed: Buffer, context: readonly string[]): Buffer {
    const head = sealed.subarray(0, headBytes)
    const body = sealed.subarray(headBytes)
    const cipher = createDecipheriv('aes-256-gcm', this.#bytes, body.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
    cipher.setAAD(bind(head, context))
    cipher.setAuthTag(body.subarray(-tagBytes))
    return Buffer.concat([cipher.update(body.subarray(nonceBytes, -tagBytes)), cipher.final()])
  }
}

export function seal(keyring: Keyring, plain: Buffer, context: readonly string[]): Buffer {
  return keyring[0].seal(plain, context)
}

/** Throws Unopenable, whose message contains nothing of the value. */
export function open(keyring: Keyring, sealed: Buffer, context: readonly string[]): Buffer {
  if (sealed.length < sealedBytes || sealed[0] !== format[0])
    throw new Unopenable('not a sealed value')
  const id = keyIdOf(sealed)
  const key = keyring.find((candidate) => candidate.id.equals(id))
  if (!key) throw new Unopenable(`the keyring lacks the key ${id.toString('hex')}`)
  try {
    return key.open(sealed, context)
  } catch {
    throw new Unopenable('the value was modified or copied from another row')
  }
}

/** The keyring cannot open a value; the message says why. */
export class Unopenable extends Error {
  override name = 'Unopenable'
}

export function keyIdOf(sealed: Buffer): Buffer {
  return sealed.subarray(format.length, headBytes)
}

const format = Buffer.from([1])
const idBytes = 8
const nonceBytes = 12
const tagBytes = 16
const headBytes = format.length + idBytes
/** The number of bytes that sealing adds to a value. */
export const sealedBytes = headBytes + nonceBytes + tagBytes

/** JSON, so that different contexts never give the same bytes. */
function bind(head: Buffer, context: readonly string[]): Buffer {
  return Buffer.concat([head, Buffer.from(JSON.stringify(context))])
}
