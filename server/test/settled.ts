import type { TestServer } from './harness.ts'

/** Polls until there is a result; fails after ten seconds, unless it is known to take many steps. */
export async function eventually<T>(
  poll: () => Promise<T | undefined>,
  withinMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const seen = await poll()
    if (seen !== undefined) return seen
    if (Date.now() > deadline) throw new Error('what was waited for did not come')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Waits until a machine is in that state. */
export async function settled(
  server: Pick<TestServer, 'call'>,
  id: string,
  state: string,
): Promise<void> {
  await eventually(async () => {
    const answer = await server.call('GET', `/v1/machines/${id}`)
    return answer.body.state === state || undefined
  })
}

/** Waits until a machine is gone. */
export async function gone(server: TestServer, id: string): Promise<void> {
  await eventually(async () => {
    const { status } = await server.call('GET', `/v1/machines/${id}`)
    return status === 404 || undefined
  })
}
