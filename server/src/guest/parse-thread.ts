import { parentPort } from 'node:worker_threads'
import { longAnswers, parseBody } from './long-answers.ts'
import type { ParseReply, ParseRequest } from './parse-apart.ts'

/* The thread of parse-apart.ts. */

parentPort!.on('message', ({ id, answer, body }: ParseRequest) => {
  parentPort!.postMessage({ id, ...parse(answer, body) } satisfies ParseReply)
})

function parse(answer: ParseRequest['answer'], body: Uint8Array) {
  try {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    return { value: parseBody(longAnswers[answer], bytes) as unknown }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
