import type { Machine } from '@computer/sdk'
import { once } from 'node:events'

export type ProcessStream = 'stdout' | 'stderr'

/** Where the output of a command goes. Resolves once it may receive more. */
export type Sink = { write(bytes: Buffer): Promise<void> | void }

/** Copies the output of a process, until the process has exited or, without `follow`, to its present end. */
export async function copyLog(
  machine: Machine,
  id: string,
  stream: ProcessStream,
  { sink, follow }: { readonly sink: Sink; readonly follow: boolean },
): Promise<void> {
  for (let offset = 0; ;) {
    const query = { stream, offset, encoding: 'base64', wait: follow ? 60 : 0 } as const
    const chunk = await machine.processes.readLog(id, query)
    if (chunk.offset > offset)
      console.error(`[${chunk.offset - offset} bytes of output are not kept any more]`)
    await sink.write(Buffer.from(chunk.content, 'base64'))
    const isAtEnd = chunk.eof || (!follow && chunk.nextOffset === offset)
    if (isAtEnd) return
    offset = chunk.nextOffset
  }
}

/** Writes to a stream of this program. */
export function localSink(stream: ProcessStream): Sink {
  return {
    async write(bytes) {
      const hasRoom = bytes.length === 0 || process[stream].write(bytes)
      if (!hasRoom) await once(process[stream], 'drain')
    },
  }
}

/** As the API: the end of each stream that is kept. */
const maxKeptBytes = 1024 * 1024

/** Keeps the end of the output. */
export class KeptOutput implements Sink {
  #bytes = Buffer.alloc(0)
  isTruncated = false

  write(bytes: Buffer): void {
    const all = Buffer.concat([this.#bytes, bytes])
    this.isTruncated ||= all.length > maxKeptBytes
    this.#bytes = all.subarray(-maxKeptBytes)
  }

  /** As UTF-8. A character that the limit cut is dropped. */
  text(): string {
    const isContinuation = (byte: number | undefined) =>
      byte !== undefined && (byte & 0xc0) === 0x80
    let start = 0
    while (this.isTruncated && isContinuation(this.#bytes[start])) start++
    return this.#bytes.toString('utf8', start)
  }
}
