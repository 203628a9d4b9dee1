const slices = 10

/**
 * Starts a limit that calls `onExpired` once the time is over, and returns a function that ends the limit. Time
 * in which this process stood still counts as one slice at most: a host that is short of processors, or was
 * paused, lets a timer expire before the answers are read that have arrived.
 */
export function startTimeLimit(ms: number, onExpired: () => void): () => void {
  let slicesLeft = slices
  const timer = setInterval(
    () => {
      slicesLeft -= 1
      if (slicesLeft > 0) return
      clearInterval(timer)
      onExpired()
    },
    Math.ceil(ms / slices),
  )
  return () => clearInterval(timer)
}
