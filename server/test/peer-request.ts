import { request as httpsRequest } from 'node:https'
import type { PeerAddress } from '../src/peers/peer.ts'

/** The status with which the worker of a host responds. */
export function requestPeer(
  { address, port, certificate }: PeerAddress,
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const tls = { ca: certificate, checkServerIdentity: () => undefined }
  const request = httpsRequest({ host: address, port, path, ...tls, ...options })
  request.once('error', reject)
  request.once('response', (reply) => {
    reply.resume()
    resolve(reply.statusCode!)
  })
  request.end()
  return promise
}
