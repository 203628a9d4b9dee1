import { Worker } from 'node:worker_threads'
import { longAnswers, type LongAnswer } from './long-answers.ts'

/*
 * Parses long answers in a thread of its own, so that no answer of an agent, which is not trusted, keeps
 * this process from its other work. The thread starts with the first long answer.
 */

export type ParseRequest = {
  readonly id: number
  readonly answer: LongAnswer
  readonly body: Uint8Array
}
export type ParseReply = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly failure: string }
)

const maxHeapMb = 256
const waiting = new Map<number, PromiseWithResolvers<unknown>>()
let thread: Worker | undefined
let lastId = 0

/** Resolves to the parsed answer, which matches the schema. */
export function parseApart<Name extends LongAnswer>(answer: Name, body: Buffer): Promise<unknown> {
  const id = ++lastId
  const parsed = Promise.withResolvers<unknown>()
  waiting.set(id, parsed)
  thread ??= startThread()
  thread.ref()
  const isWhole = body.byteLength === body.buffer.byteLength
  const transfer = isWhole ? [body.buffer as ArrayBuffer] : []
  thread.postMessage({ id, answer, body } satisfies ParseRequest, transfer)
  return parsed.promise
}

/** The name of the schema of a long answer. Undefined for that of a short one. */
export function nameOfLongAnswer(schema: unknown): LongAnswer | undefined {
  return names.get(schema)
}

const names = new Map<unknown, LongAnswer>(
  Object.entries(longAnswers).map(([name, schema]) => [schema, name as LongAnswer]),
)

function startThread(): Worker {
  const started = new Worker(new URL('./parse-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  })
  started.on('message', (reply: ParseReply) => {
    const parsed = waiting.get(reply.id)
    waiting.delete(reply.id)
    // An idle thread does not keep the process alive.
    if (waiting.size === 0) started.unref()
    if ('value' in reply) parsed?.resolve(reply.value)
    else parsed?.reject(new Error(reply.failure))
  })
  // It ran out of memory: an answer that it had not parsed by then counts as none.
  started.on('error', (error) => {
    if (thread === started) thread = undefined
    for (const parsed of waiting.values()) parsed.reject(error)
    waiting.clear()
  })
  return started
}
