import type { FastifyInstance, FastifyReply } from 'fastify'
import { Socket } from 'node:net'
import type { App } from '../app.ts'
import { ApiError } from '../errors.ts'
import { OrganizationMemory } from './organization-memory.ts'

/*
 * How responses leave. A caller may ask for much and read nothing of it. Its connection is closed after a
 * silence, and until then the responses that wait for the callers of one organization have a limit.
 */

const mebibyte = 1024 * 1024
const maxWaitingBytes = 64 * mebibyte
/** Shorter ones fit into the buffers of the connection. */
const shortBytes = 64 * 1024

export function limitResponses(http: FastifyInstance, { timing }: Pick<App, 'timing'>): void {
  const waiting = new OrganizationMemory(maxWaitingBytes)
  http.addHook('onSend', (request, reply, payload, done) => {
    closeWhenSilent(reply, timing.responseSilenceMs)
    const bytes = lengthOf(payload)
    if (bytes <= shortBytes || waiting.take(request, bytes, reply.raw)) done(null, payload)
    else done(tooMuch())
  })
}

/**
 * Node closes the connection of a caller that reads nothing for so long, and the rest of the response is
 * lost. A response that waits for an earlier one on its connection has no socket yet, and shares the fate
 * of the earlier one.
 */
function closeWhenSilent({ raw: { socket } }: FastifyReply, silenceMs: number): void {
  if (socket instanceof Socket) socket.setTimeout(silenceMs)
}

/** Streams are held back by their reader, so they wait elsewhere. */
function lengthOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload)
  return Buffer.isBuffer(payload) ? payload.length : 0
}

function tooMuch(): ApiError {
  const limit = `${maxWaitingBytes / mebibyte} MiB`
  return new ApiError(
    'rate_limited',
    `callers of this organization have yet to read ${limit} of earlier responses; read them first`,
    { retryAfter: 1 },
  )
}
