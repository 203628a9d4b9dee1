import forge from 'node-forge'
import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/* The certificates that this server signs itself. */

const makeKeyPair = promisify(generateKeyPair)
const dayMs = 24 * 3600 * 1000

export type CertificateOptions = {
  readonly publicPem: string
  readonly days: number
  readonly subject: forge.pki.CertificateField[]
  readonly issuer: forge.pki.CertificateField[]
}

/** A certificate (PEM) with these extensions in the form of node-forge, signed with the key of its issuer. */
export function signCertificate(
  options: CertificateOptions,
  extensions: readonly object[],
  signerPem: string,
): string {
  const cert = forge.pki.createCertificate()
  cert.publicKey = forge.pki.publicKeyFromPem(options.publicPem)
  // Must be positive: the first hex digit is 4.
  cert.serialNumber = `4${randomBytes(16).toString('hex').slice(1)}`
  // The client's clock may be behind.
  cert.validity.notBefore = new Date(Date.now() - dayMs)
  cert.validity.notAfter = new Date(Date.now() + options.days * dayMs)
  cert.setSubject(options.subject)
  cert.setIssuer(options.issuer)
  cert.setExtensions([...extensions])
  cert.sign(forge.pki.privateKeyFromPem(signerPem), forge.md.sha256.create())
  return forge.pki.certificateToPem(cert)
}

/** An RSA key of 2,048 bits, which every TLS client accepts. */
export async function createKeyPair(): Promise<{ publicPem: string; privatePem: string }> {
  const { publicKey, privateKey } = await makeKeyPair('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  return { publicPem: publicKey, privatePem: privateKey }
}
