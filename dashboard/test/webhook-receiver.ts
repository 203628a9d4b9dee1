import type { Lifetime } from '../../server/test/harness.ts'
import { startReceiver } from '../../server/test/webhook-receiver.ts'

/** A receiver that answers with the status that the test sets, and keeps what it gets. */
export async function startStatusReceiver(t: Lifetime) {
  const answer = { status: 204 }
  const { received, url } = await startReceiver(t, (response) =>
    response.writeHead(answer.status).end(),
  )
  return Object.assign(answer, { received, url, host: new URL(url).host })
}
