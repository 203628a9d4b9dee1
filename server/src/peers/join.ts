import { X509Certificate } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import type { JoinAnswer, PeerAddress } from './peer.ts'

/* A token names the worker that admits a new host: its address, the fingerprint of its certificate, and a secret. */

const Token = z.object({
  address: z.string(),
  port: z.int(),
  fingerprint: z.string(),
  secret: z.string(),
})
type Token = z.infer<typeof Token>

const Answer = z.object({ host: z.string(), databaseUrl: z.string(), keyring: z.string() })
const timeoutMs = 15_000

export function encodeToken({ address, port, certificate }: PeerAddress, secret: string): string {
  const fingerprint = new X509Certificate(certificate).fingerprint256
  return Buffer.from(JSON.stringify({ address, port, fingerprint, secret })).toString('base64url')
}

/** Asks the worker that the token names. Throws an Error that says what to do. */
export async function requestToJoin(token: string): Promise<JoinAnswer> {
  const invitation = decode(token)
  const { address, port, secret } = invitation
  const socket = await connectTo(invitation)
  const { promise, resolve, reject } = Promise.withResolvers<JoinAnswer>()
  const request = httpsRequest({
    host: address,
    port,
    path: '/join',
    createConnection: () => socket,
    headers: { authorization: `Bearer ${secret}`, connection: 'close' },
  })
  request.once('error', reject)
  request.once('response', (reply) => {
    if (reply.statusCode === 200) {
      text(reply)
        .then((body) => resolve(Answer.parse(JSON.parse(body))))
        .catch(reject)
    } else {
      reply.resume()
      reject(
        new Error('the token was used or has expired: get another one with `computer hosts add`'),
      )
    }
  })
  request.end()
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

function decode(token: string): Token {
  try {
    return Token.parse(JSON.parse(Buffer.from(token, 'base64url').toString('utf8')))
  } catch (cause) {
    throw new Error('this is no token of `computer hosts add`, or not all of it', { cause })
  }
}

/** Nothing is sent before the certificate is known to be that of the token. */
async function connectTo({ address, port, fingerprint }: Token): Promise<TLSSocket> {
  const socket = connect({ host: address, port, rejectUnauthorized: false, timeout: timeoutMs })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('it does not answer')))
    })
  } catch (cause) {
    socket.destroy()
    const { message } = cause as Error
    throw new Error(`the host at ${address}, port ${port}, cannot be reached: ${message}`, {
      cause,
    })
  }
  if (socket.getPeerCertificate().fingerprint256 === fingerprint) return socket
  socket.destroy()
  throw new Error(
    'the worker of that host was restarted since the token was made: get another one with `computer hosts add`',
  )
}
