import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/*
 * Values that the database keeps and cannot read: AES-256-GCM under the keys of a keyring, which the
 * operator keeps elsewhere. The first key encrypts, all decrypt, so that a key is replaced while
 * everything goes on. What a value belongs to is bound to it as associated data: moved elsewhere, it
 * does not open.
 *
 * Sealed: 1 (the format), id of the key (8 bytes), nonce (12), ciphertext, tag (16).
 */
export type Keyring = readonly [Key, ...Key[]]

export class Key {
  /** Names the key and does not give it away. */
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

  /** For the keyring's file alone. */
  export(): string {
    return this.#bytes.toString('base64')
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

/** Throws Unopenable, which says nothing of what is inside. */
export function open(keyring: Keyring, sealed: Buffer, context: readonly string[]): Buffer {
  if (sealed.length < sealedBytes || sealed[0] !== format[0])
    throw new Unopenable('not a sealed value')
  const id = keyIdOf(sealed)
  const key = keyring.find((one) => one.id.equals(id))
  if (!key) throw new Unopenable(`the keyring lacks the key ${id.toString('hex')}`)
  try {
    return key.open(sealed, context)
  } catch {
    throw new Unopenable('it was changed, or moved here from elsewhere')
  }
}

/** A value that the keyring cannot open, and why. */
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
/** By how much a sealed value is longer than the value. */
export const sealedBytes = headBytes + nonceBytes + tagBytes

/** No two contexts give the same bytes. */
function bind(head: Buffer, context: readonly string[]): Buffer {
  return Buffer.concat([head, Buffer.from(JSON.stringify(context))])
}
