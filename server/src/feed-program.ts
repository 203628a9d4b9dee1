import type { Readable, Writable } from 'node:stream'

/**
 * Writes a stream to the input of a program. Rejects if the stream breaks off. A program that reads to an end mark may
 * have closed its input by then; its exit code says whether it has everything.
 */
export async function feedProgram(stream: Readable, input: Writable): Promise<void> {
  input.on('error', () => {})
  for await (const chunk of stream) {
    if (input.write(chunk) || input.destroyed) continue
    await new Promise<void>((resolve) => {
      const resume = () => {
        input.off('drain', resume).off('close', resume)
        resolve()
      }
      input.once('drain', resume).once('close', resume)
    })
  }
  input.end()
}
