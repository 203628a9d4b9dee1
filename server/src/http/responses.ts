import type { OrganizationId } from '@computer/contract'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Socket } from 'node:net'
import type { App } from '../app.ts'
import { ApiError } from '../errors.ts'

/*
 * How responses leave. A caller may ask for much and read nothing of it. Its connection is closed after a
 * silence, and until then the responses that wait for the callers of one organization have a limit.
 */

const mebibyte = 1024 * 1024
const maxWaitingBytes = 64 * mebibyte
/** Shorter ones fit into the buffers of the connection. */
const shortBytes = 64 * 1024

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the caller is authenticated. */
    organizationId?: OrganizationId
  }
}

export function limitResponses(http: FastifyInstance, { timing }: Pick<App, 'timing'>): void {
  const waiting = new Map<OrganizationId, number>()
  http.addHook('onSend', async ({ organizationId }, reply, payload) => {
    closeWhenSilent(reply, timing.responseSilenceMs)
    const bytes = lengthOf(payload)
    if (organizationId === undefined || bytes <= shortBytes) return payload
    const before = waiting.get(organizationId) ?? 0
    // One response of any length is always sent.
    if (before > 0 && before + bytes > maxWaitingBytes) throw tooMuch()
    waiting.set(organizationId, before + bytes)
    reply.raw.once('close', () => {
      const left = waiting.get(organizationId)! - bytes
      if (left === 0) waiting.delete(organizationId)
      else waiting.set(organizationId, left)
    })
    return payload
  })
}

/**
 * What the caller does not read for so long, it does not get. A response that waits for an earlier one
 * on its connection has no socket yet, and shares the fate of the earlier one.
 */
function closeWhenSilent({ raw }: FastifyReply, silenceMs: number): void {
  const { socket } = raw
  if (socket instanceof Socket) raw.setTimeout(silenceMs, () => socket.destroy())
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
