import type { FastifyInstance } from 'fastify'

export type Answer = {
  readonly status: number
  readonly headers: Record<string, unknown>
  // Tests read the fields of bodies without types.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly bytes: Buffer
}
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

/** Calls an API with a fixed credential and address. */
export function callWith(
  http: FastifyInstance,
  credential: Record<string, string>,
  remoteAddress = '127.0.0.1',
): Call {
  return async (method, path, body, headers = {}) => {
    const isBytes = Buffer.isBuffer(body)
    const answer = await http.inject({
      method: method as 'GET',
      url: path,
      remoteAddress,
      headers: {
        ...credential,
        ...(isBytes && { 'content-type': 'application/octet-stream' }),
        ...headers,
      },
      ...(body !== undefined && { payload: body as object }),
    })
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: isJson && answer.payload !== '' ? answer.json() : undefined,
      bytes: answer.rawPayload,
    }
  }
}
