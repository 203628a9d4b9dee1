import { ImageId, MachineId } from '@computer/contract'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { createKeyPair, signCertificate } from '../certificates.ts'
import { DriverError, imageFileNames, type MachineRef } from '../drivers/machine-driver.ts'
import { endConnection } from '../end-connection.ts'
import { CaptureId, Generation, parse, Refusal, send, sendJson } from './answers.ts'
import { answerKeeper } from './kept-disks.ts'
import {
  agentProtocol,
  type JoinAnswer,
  type Peer,
  type PeerAddress,
  type PeerFailure,
} from './peer.ts'

/*
 * The worker of a host lets processes of other hosts reach its machines. The listener has a certificate of its own,
 * which its row in the database names, and a key that never leaves its memory; whoever asks proves that they belong to
 * the server before anything else is read.
 */

export type PeerListener = AsyncDisposable & PeerAddress

export type PeerListenerOptions = {
  readonly address: string
  readonly port: number
  readonly isProof: (token: string) => Promise<boolean>
  /** Null for a secret that invites nobody. */
  readonly admit: (secret: string) => Promise<JoinAnswer | null>
  /** Once one side of an agent's stream has ended, the other ends within this time. */
  readonly endingMs?: number
}

/** Others than processes of the server are cut off after this long, or twice that if they say nothing at all. */
const headersTimeoutMs = 5_000
/** Each process of another host holds one for each machine here that it talks to. */
const maxConnections = 8_192
/** A connection of a host that is gone is closed after some minutes. */
const keepAliveMs = 60_000
const certificateDays = 10 * 365

const Ref = z.tuple([MachineId, Generation])
const Image = z.tuple([ImageId, z.enum(imageFileNames)])
/** A capture, its image and its base; an empty base stands for the image. */
const Capture = z.tuple([CaptureId, ImageId, z.literal('').or(CaptureId)])

export async function listenForPeers(
  peer: Peer,
  { address, port, isProof, admit, endingMs = 60_000 }: PeerListenerOptions,
): Promise<PeerListener> {
  const { certificate, key } = await makeCertificate()
  const limits = {
    handshakeTimeout: headersTimeoutMs,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs,
    maxHeaderSize: 4096,
    requestTimeout: 60_000,
  }
  // An end of an agent's stream may finish before the other.
  const streams = { allowHalfOpen: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }
  const server = createServer({ cert: certificate, key, ...streams, ...limits })
  server.maxConnections = maxConnections
  const connections = new Set<Duplex>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const requireProof = async (request: IncomingMessage) => {
    if (!(await isProof(readToken(request)))) throw new Refusal(401)
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [folder, ...rest] = readPath(request)
    if (folder === 'join') {
      const admitted = await admit(readToken(request))
      if (!admitted) throw new Refusal(401)
      return sendJson(response, admitted)
    }
    await requireProof(request)
    if (folder === 'keepers') {
      await answerKeeper(peer, { method: request.method, path: rest }, response)
    } else if (folder === 'disks') {
      sendJson(response, { bytes: await peer.measureDisk(refOf(rest)) })
    } else if (folder === 'captures') {
      const [id, imageId, base] = parse(Capture, rest)
      await send(response, await peer.sendCapture(id, { imageId, base: base || null }))
    } else if (folder === 'images') {
      const [id, file] = parse(Image, rest)
      await send(response, await peer.readImage(id, file))
    } else throw new Refusal(404)
  }
  server.on('request', (request, response) => {
    answer(request, response).catch((error: unknown) => {
      const { status, body } = describe(error)
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
      response.end(body)
    })
  })

  const joinAgent = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    await requireProof(request)
    if (request.headers.upgrade !== agentProtocol) throw new Refusal(400)
    const [folder, ...rest] = readPath(request)
    if (folder !== 'agents') throw new Refusal(404)
    const agent = await peer.connect(refOf(rest))
    if (socket.destroyed) return void agent.destroy()
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${agentProtocol}\r\n\r\n`,
    )
    if (head.length > 0) agent.write(head)
    join(socket, agent, endingMs)
  }
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    joinAgent(request, socket, head).catch((error: unknown) => {
      const { status, body } = describe(error)
      endConnection(
        socket,
        `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
  })

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    address,
    port: (server.address() as AddressInfo).port,
    certificate,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of connections) socket.destroy()
      await closed
    },
  }
}

function readToken({ headers }: IncomingMessage): string {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) throw new Refusal(401)
  return token
}

/** Only what a backup keeps is changed by requests. */
function readPath({ method, url }: IncomingMessage): readonly string[] {
  const path = (url ?? '').split('/').slice(1)
  if (method !== 'GET' && path[0] !== 'keepers') throw new Refusal(404)
  return path
}

function refOf(path: readonly string[]): MachineRef {
  const [id, generation] = parse(Ref, path)
  return { id, generation }
}

function describe(error: unknown): { readonly status: number; readonly body: string } {
  if (error instanceof Refusal) return { status: error.status, body: '' }
  const { message } = error as Error
  const { retryable, ofEngine } =
    error instanceof DriverError ? error : { retryable: false, ofEngine: false }
  const failure: PeerFailure = { message, retryable, ofEngine }
  return { status: 502, body: JSON.stringify(failure) }
}

/** Each end gets what the other sends, and closes with it. */
function join(socket: Duplex, agent: Duplex, endingMs: number): void {
  const ends = [socket, agent]
  agent.on('error', () => {})
  agent.once('close', () => {
    // After a clean end, what was written is still on its way. The end of the socket is to be read, or it stays open.
    if (agent.readableEnded) socket.resume()
    else socket.destroy()
  })
  socket.once('close', () => agent.end(() => agent.destroy()))
  // An engine may keep the stream of a machine that is gone.
  let limit: NodeJS.Timeout | undefined
  const beginEnding = () => {
    limit ??= setTimeout(() => ends.forEach((end) => end.destroy()), endingMs).unref()
  }
  socket.once('end', beginEnding)
  for (const end of ends) {
    end.once('close', () =>
      ends.every(({ closed }) => closed) ? clearTimeout(limit) : beginEnding(),
    )
  }
  socket.pipe(agent).pipe(socket)
}

async function makeCertificate(): Promise<{ certificate: string; key: string }> {
  const { publicPem, privatePem } = await createKeyPair()
  const subject = [{ name: 'commonName', value: 'Computer host' }]
  const certificate = signCertificate(
    { publicPem, days: certificateDays, subject, issuer: subject },
    [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, keyEncipherment: true },
    ],
    privatePem,
  )
  return { certificate, key: privatePem }
}
