const slices = 10
const longestSliceMs = 1000

/**
 * Calls back once the time is over, in which time that this process stood still hardly counts: a host that is
 * short of processors, or was paused, lets timers expire before the answers are read that have arrived.
 * Returns how to end the limit.
 */
export function startTimeLimit(ms: number, onExpired: () => void): () => void {
  let leftMs = ms
  let timer: NodeJS.Timeout
  const wait = () => {
    const sliceMs = Math.min(leftMs, longestSliceMs, ms / slices)
    timer = setTimeout(() => {
      leftMs -= sliceMs
      if (leftMs > 0) wait()
      else onExpired()
    }, sliceMs)
  }
  wait()
  return () => clearTimeout(timer)
}
