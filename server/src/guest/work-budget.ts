import type { Duplex } from 'node:stream'

/** The part of this process's time that one machine may take beyond the usual cost of its bytes. */
const share = 0.4
const burstMs = 100
/** A file's bytes cost less, even on a slow host. */
const usualMsPerByte = 5 / 1000 / 1024

/**
 * Limits how much of this process's time the bytes of one machine take. Its agent, which is not trusted,
 * can send bytes that cost far more than others, such as a stream of empty frames: then it is read more
 * slowly. Call it before the stream has a reader, and `measure` after: what is measured is that reader.
 */
export function limitWork(
  stream: Duplex,
  nowMs: () => number = () => performance.now(),
): { readonly measure: () => void } {
  let beganMs = 0
  let countedMs = nowMs()
  let creditMs = burstMs
  const count = (bytes: number) => {
    const now = nowMs()
    creditMs = Math.min(burstMs, creditMs + share * (now - countedMs))
    countedMs = now
    creditMs -= Math.max(0, now - beganMs - bytes * usualMsPerByte)
    if (creditMs >= 0) return
    stream.pause()
    setTimeout(() => stream.resume(), -creditMs / share)
  }
  // Listeners are called in the order in which they were added: these two surround the reader.
  stream.on('data', () => (beganMs = nowMs()))
  stream.pause()
  return { measure: () => stream.on('data', (bytes: Buffer) => count(bytes.length)) }
}
