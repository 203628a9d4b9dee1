import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'

/* The parts of a listener's answers to processes of other hosts. */

/** A request that names nothing here, or whose sender does not belong to the server. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number) {
    super('refused')
    this.status = status
  }
}

export const CaptureId = z.templateLiteral(['cap_', z.string().regex(/^[0-9a-z]{20,32}$/)])

export const Generation = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number)

/** A stream that fails breaks the connection off. */
export async function send(response: ServerResponse, stream: Readable): Promise<void> {
  await pipeline(stream, response).catch(() => {})
}

export function sendJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
}

/** Throws a refusal for a path that is not of the schema. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  path: readonly string[],
): z.output<Schema> {
  const parsed = schema.safeParse(path)
  if (!parsed.success) throw new Refusal(404)
  return parsed.data
}
