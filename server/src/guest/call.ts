import type { guestRoutes } from '@computer/contract'
import type { z } from 'zod'
import { acceptAnswer, parseAnswer } from './answer.ts'
import { useBody } from './body.ts'
import type { GuestAnswer, GuestRequest } from './channel.ts'
import type { GuestChannels, GuestRef } from './channels.ts'

export const answerTimeoutMs = 15_000
export const maxJsonBytes = 512 * 1024

export type CallOptions = { readonly signal?: AbortSignal | undefined }

type Route = (typeof guestRoutes)[keyof typeof guestRoutes]
type Query = Readonly<Record<string, string | number | undefined>>

/** Calls the routes of agents by their descriptions in the contract. */
export function createCalls(channels: Pick<GuestChannels, 'request'>) {
  const call = <T>(
    ref: GuestRef,
    route: Route,
    request: Partial<GuestRequest> & { readonly query?: Query },
    consume: (answer: GuestAnswer) => Promise<T>,
  ): Promise<T> => {
    const { query, ...rest } = request
    const path = query ? `${route.path}?${encodeQuery(query)}` : route.path
    const whole = { timeoutMs: answerTimeoutMs, ...rest, method: route.method, path }
    return channels.request(ref, whole, async (answer) => {
      try {
        await acceptAnswer(answer)
        return await consume(answer)
      } catch (error) {
        // Ends the rest of the call, such as a refused upload.
        answer.stream.destroy()
        throw request.signal?.aborted ? request.signal.reason : error
      }
    })
  }

  /** Calls a route that answers JSON of that schema. */
  const callJson = <S extends z.ZodType>(
    ref: GuestRef,
    route: Route,
    schema: S,
    request: Partial<GuestRequest> & { readonly query?: Query } = {},
    maxBytes = maxJsonBytes,
  ): Promise<z.output<S>> =>
    call(ref, route, request, (answer) =>
      useBody(answer, maxBytes, (body) => parseAnswer(schema, body)),
    )

  return { call, callJson }
}

export type CallJson = ReturnType<typeof createCalls>['callJson']

function encodeQuery(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value))
  }
  return params.toString()
}
