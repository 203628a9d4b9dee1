import type { Readable } from 'node:stream'
import { z } from 'zod'
import { invalidRequest } from './errors.ts'

/** Reads a JSON body and checks it against a schema of the contract. */
export async function parseBody<S extends z.ZodType>(
  schema: S,
  body: Readable,
): Promise<z.output<S>> {
  const bytes = await readAll(body)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw invalidRequest('the body is not JSON')
  }
  return parse(schema, value)
}

export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalidRequest(z.prettifyError(result.error))
}

/** Fits the longest clipboard text with every character escaped. */
const maxBodyBytes = 32 * 1024 * 1024

async function readAll(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBodyBytes) throw invalidRequest(`the body is longer than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
