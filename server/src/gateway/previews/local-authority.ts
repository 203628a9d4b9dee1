import forge from 'node-forge'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createKeyPair, signCertificate } from '../../certificates.ts'
import { replaceFile } from '../../replace-file.ts'

/*
 * Certificates for one host without DNS, signed by a local authority that is created at first use. Its
 * name constraints allow nothing but names below localhost, so trusting it is safe even if its key
 * leaks. Each hostname has its own certificate, because browsers reject a wildcard for a top-level
 * domain.
 */

const dayMs = 24 * 3600 * 1000
const authorityDays = 10 * 365
const leafDays = 30
/** A certificate is replaced after a tenth of its lifetime. */
const reuseMs = 3 * dayMs
const maxContexts = 1_000
/** A context takes 30 KB, and nobody comes back to the hostname of a preview that is over. */
const idleMs = 10 * 60_000

type LocalAuthority = {
  /** The certificate for browsers to trust. */
  readonly certPath: string
  contextOf(hostname: string): Promise<SecureContext>
}

/** `now` is in milliseconds. */
export async function openLocalAuthority(
  dataDir: string,
  now: () => number = Date.now,
): Promise<LocalAuthority> {
  const folder = join(dataDir, 'previews')
  const certPath = join(folder, 'authority.crt')
  const authority = (await readAuthority(folder)) ?? (await makeAuthority(folder))
  const leafKey = await createKeyPair()
  /** The one that was used last comes last. */
  const contexts = new Map<string, KnownContext>()
  const forgetUnused = (time: number) => {
    for (const [hostname, { usedAt }] of contexts) {
      if (time - usedAt < idleMs && contexts.size <= maxContexts) return
      contexts.delete(hostname)
    }
  }
  const makeContext = (hostname: string) =>
    createSecureContext({
      cert: signLeaf(authority, leafKey.publicPem, hostname),
      key: leafKey.privatePem,
      minVersion: 'TLSv1.2',
    })
  return {
    certPath,
    async contextOf(hostname) {
      const time = now()
      const known = contexts.get(hostname)
      const isFresh = known && time - known.madeAt < reuseMs
      const { madeAt, context } = isFresh ? known : { madeAt: time, context: makeContext(hostname) }
      contexts.delete(hostname)
      contexts.set(hostname, { madeAt, usedAt: time, context })
      forgetUnused(time)
      return context
    },
  }
}

type KnownContext = {
  readonly madeAt: number
  readonly usedAt: number
  readonly context: SecureContext
}

type Authority = { readonly certPem: string; readonly keyPem: string }

/** The certificate is written last, so if it exists the key does. */
async function readAuthority(folder: string): Promise<Authority | null> {
  try {
    const [certPem, keyPem] = await Promise.all([
      readFile(join(folder, 'authority.crt'), 'utf8'),
      readFile(join(folder, 'authority.key'), 'utf8'),
    ])
    return { certPem, keyPem }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function makeAuthority(folder: string): Promise<Authority> {
  const { publicPem, privatePem } = await createKeyPair()
  const subject = [{ name: 'commonName', value: 'Computer previews on this host' }]
  const certPem = signCertificate(
    { publicPem, days: authorityDays, subject, issuer: subject },
    [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
      { name: 'subjectKeyIdentifier' },
      { id: '2.5.29.30', critical: true, value: onlyLocalhost() },
    ],
    privatePem,
  )
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  await replaceFile(join(folder, 'authority.key'), privatePem, { isDurable: true })
  await replaceFile(join(folder, 'authority.crt'), certPem, { isDurable: true })
  return { certPem, keyPem: privatePem }
}

function signLeaf({ certPem, keyPem }: Authority, publicPem: string, hostname: string): string {
  const issuer = forge.pki.certificateFromPem(certPem).subject.attributes
  const subject = [{ name: 'commonName', value: 'Computer preview' }]
  return signCertificate(
    { publicPem, days: leafDays, subject, issuer },
    [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: hostname }] },
    ],
    keyPem,
  )
}

/** Name constraints (RFC 5280, 4.2.1.10): DNS names below localhost and no IP addresses. */
function onlyLocalhost(): string {
  const { asn1 } = forge
  const { Class, Type } = asn1
  const subtrees = (tag: number, bases: readonly forge.asn1.Asn1[]) =>
    asn1.create(
      Class.CONTEXT_SPECIFIC,
      tag as forge.asn1.Type,
      true,
      bases.map((base) => asn1.create(Class.UNIVERSAL, Type.SEQUENCE, true, [base])),
    )
  const name = (tag: number, value: string) =>
    asn1.create(Class.CONTEXT_SPECIFIC, tag as forge.asn1.Type, false, value)
  const everyAddress = [8, 32].map((bytes) => name(7, '\0'.repeat(bytes)))
  const constraints = [subtrees(0, [name(2, 'localhost')]), subtrees(1, everyAddress)]
  return asn1.toDer(asn1.create(Class.UNIVERSAL, Type.SEQUENCE, true, constraints)).getBytes()
}
