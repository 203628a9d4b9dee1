import { uploadTypeOf, type Endpoint } from '@computer/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { parse, withoutNulls } from '../http/parse.ts'

/** The parts of a request that its endpoint describes, parsed; anything else in them is refused. */
export function readInput(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply) {
  const upload = readUpload(endpoint, request)
  const accept = request.headers.accept ?? ''
  return {
    params: parseIf(endpoint.params, request.params, 'path'),
    query: upload ? undefined : parse(endpoint.query ?? nothing, request.query, 'query'),
    body: upload ? undefined : readBody(endpoint.body ?? nothing, request.body),
    headers: parseIf(endpoint.headers, request.headers, 'header'),
    upload,
    sentTo: { protocol: request.protocol, host: request.host },
    accept,
    wantsBytes:
      endpoint.bytes !== undefined && accept.startsWith(endpoint.bytes.replace(/\*$/, '')),
    signal: disconnectSignal(reply),
  }
}

function readUpload(endpoint: Endpoint, { body, query, headers }: FastifyRequest) {
  const { uploads } = endpoint
  const type = uploads && uploadTypeOf(endpoint)
  const isUpload = body instanceof Readable
  const isOfType = headers['content-type']?.split(';')[0]!.trim().toLowerCase() === type
  if (isUpload ? !isOfType : type && !endpoint.body) {
    const json = endpoint.body || !type ? 'application/json' : undefined
    const types = [json, type].filter((one) => one !== undefined).join(' or ')
    throw new ApiError('invalid_request', `send content-type: ${types}`)
  }
  return uploads && isUpload ? { bytes: body, query: parse(uploads, query, 'query') } : null
}

const nothing = z.strictObject({})

/** No body counts as an empty one. */
function readBody(schema: z.ZodType, body: unknown): unknown {
  return parse(schema, body === undefined ? {} : withoutNulls(schema, body), 'body')
}

function parseIf(schema: z.ZodType | undefined, value: unknown, part: string): unknown {
  return schema && parse(schema, value, part)
}

function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Error('the caller disconnected'))
  })
  return controller.signal
}
