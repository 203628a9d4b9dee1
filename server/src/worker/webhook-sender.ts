import type { WebhookId } from '@computer/contract'
import type { App } from '../app.ts'
import { readKeyring } from '../domain/secrets/keyring-file.ts'
import { Unopenable, type Keyring } from '../domain/secrets/keyring.ts'
import { createAddressRules } from '../domain/webhooks/addresses.ts'
import {
  claimDeliveries,
  recordAccepted,
  recordFailure,
  type Accepted,
  type DueDelivery,
} from '../domain/webhooks/attempts.ts'
import { createMessageSender, type Attempt, type MessageSender } from '../domain/webhooks/send.ts'
import { signMessage } from '../domain/webhooks/signature.ts'
import { pause, throttle } from '../pace.ts'
import { logFailure } from './queue.ts'

type Sending = Pick<App, 'config' | 'timing' | 'db' | 'changes' | 'log' | 'metrics'>

const mostInFlight = 256
/** Deliveries that end within this time are replaced by one claim. */
const claimEveryMs = 10

/** Sends what is due until the signal is aborted, and resolves when nothing is in flight. */
export async function sendDeliveries(app: Sending, signal: AbortSignal): Promise<void> {
  const { webhookAnswerMs: answerMs, pollMs } = app.timing
  const rules = createAddressRules(app.config.webhookNetworks)
  using sender = createMessageSender({ rules, answerMs })
  const record = recordTogether(app)
  const inFlight = new Map<WebhookId, number>()
  const running = new Set<Promise<unknown>>()
  let woken = Promise.withResolvers<void>()
  const unsubscribe = app.changes.subscribe(() => woken.resolve(), 'deliveries')

  const start = (delivery: DueDelivery, keyring: Keyring | null) => {
    const { webhook_id: id } = delivery
    inFlight.set(id, (inFlight.get(id) ?? 0) + 1)
    const one = logFailure(app, async () => {
      const attempt = await send(sender, keyring, delivery)
      app.metrics.worker.countWebhookAttempt(outcomeOf(attempt))
      if (isAccepted(attempt)) await record({ delivery, status: attempt.status })
      else if (await recordFailure(app, delivery, attempt)) app.metrics.worker.countLostMessage()
    }).finally(() => {
      const left = inFlight.get(id)! - 1
      if (left > 0) inFlight.set(id, left)
      else inFlight.delete(id)
      running.delete(one)
      woken.resolve()
    })
    running.add(one)
  }
  const startDue = async (): Promise<number> => {
    const limit = mostInFlight - running.size
    if (limit <= 0) return 0
    // Twice as long as an attempt, so that its outcome is recorded before others claim the delivery.
    const due = await claimDeliveries(app.db, { limit, inFlight, claimMs: 2 * answerMs })
    const keyring = due.length > 0 ? await readKeyring(app.config.keyringPath) : null
    for (const delivery of due) start(delivery, keyring)
    return due.length
  }

  const turn = throttle(claimEveryMs)
  while (!signal.aborted) {
    await turn()
    woken = Promise.withResolvers()
    const started = await logFailure(app, startDue)
    if (!started) await Promise.race([woken.promise, pause(pollMs, signal)])
  }
  unsubscribe()
  await Promise.all(running)
}

async function send(
  sender: MessageSender,
  keyring: Keyring | null,
  { webhook, message_id: id, payload }: DueDelivery,
): Promise<Attempt> {
  if (!keyring) return { error: cannotSign }
  try {
    const headers = signMessage(keyring, webhook, { id, payload }, new Date())
    return await sender.send(new URL(webhook.url), headers, payload)
  } catch (error) {
    if (error instanceof Unopenable) return { error: cannotSign }
    throw error
  }
}

const cannotSign =
  'this server lacks the key of the signing secret; its operator can restore the keyring'

function isAccepted(attempt: Attempt): attempt is { status: number } {
  return 'status' in attempt && attempt.status >= 200 && attempt.status < 300
}

function outcomeOf(attempt: Attempt): 'accepted' | 'refused' | 'failed' {
  if (isAccepted(attempt)) return 'accepted'
  return 'status' in attempt ? 'refused' : 'failed'
}

/** Records deliveries that end while others are recorded in one statement. Resolves when the given one is recorded. */
function recordTogether(app: Pick<App, 'db' | 'log'>): (accepted: Accepted) => Promise<unknown> {
  let waiting: Accepted[] = []
  let turn: Promise<unknown> = Promise.resolve()
  const recordWaiting = async () => {
    const accepted = waiting
    waiting = []
    if (accepted.length > 0) await recordAccepted(app.db, accepted)
  }
  return (accepted) => {
    waiting.push(accepted)
    turn = turn.then(() => logFailure(app, recordWaiting))
    return turn
  }
}
