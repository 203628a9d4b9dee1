/**
 * Does the work whenever it is asked for, once at a time: what is asked for meanwhile is done once more
 * after it. What the work throws is its own to catch.
 */
export function oneAtATime(work: () => Promise<void>): () => void {
  let isWorking = false
  let isAskedAgain = false

  async function run(): Promise<void> {
    isWorking = true
    try {
      do {
        isAskedAgain = false
        await work()
      } while (isAskedAgain)
    } finally {
      isWorking = false
    }
  }

  return () => {
    if (isWorking) isAskedAgain = true
    else void run()
  }
}
