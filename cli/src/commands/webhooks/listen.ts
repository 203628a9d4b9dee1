import { ApiError } from '@computer/sdk'
import { createHmac, randomBytes } from 'node:crypto'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { toWire } from '../../output.ts'
import { printable } from '../../text.ts'

const answerWithinMs = 15_000

export const listen = clientCommand('listen')
  .description(
    'Forward events and activity to a program on this computer, signed as a webhook would.',
  )
  .requiredOption('--forward-to <url>', 'address of the program')
  .option('--type <types...>', 'only events and activity of these types (default: all)')
  .option('--secret <secret>', 'signing secret (default: a new one, which is printed)')
  .addHelpText(
    'after',
    `
For development. Nothing is sent again that the program did not accept.
${examples('computer webhooks listen --forward-to http://127.0.0.1:3000/hook')}`,
  )
  .action(async ({ forwardTo, type: types, secret = generateSecret(), ...options }) => {
    await using computer = await connect(options)
    if (!URL.canParse(forwardTo)) {
      throw new ApiError('invalid_request', `${JSON.stringify(forwardTo)} is no address`)
    }
    const [events, activity] = [computer.events.subscribe(), computer.activity.subscribe()]
    await Promise.all([events.ready, activity.ready])
    console.error(printable(`Forwarding to ${forwardTo}. Signing secret: ${secret}`))
    const forward = async (log: AsyncIterable<Message & { readonly cursor: string }>) => {
      for await (const { cursor: _, ...message } of log) {
        if (types && !types.includes(message.type)) continue
        const outcome = await send(forwardTo, secret, message)
        console.log(printable(`${message.occurredAt}  ${message.type.padEnd(26)}  ${outcome}`))
      }
    }
    await Promise.all([forward(events), forward(activity)])
  })

type Message = { readonly id: string; readonly type: string; readonly occurredAt: string }

/** The status of the answer, or why there is none. */
async function send(url: string, secret: string, message: Message): Promise<string> {
  const { id, type, occurredAt } = message
  const body = JSON.stringify({ type, timestamp: occurredAt, data: toWire(message) })
  const timestamp = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
  try {
    const signal = AbortSignal.timeout(answerWithinMs)
    const answer = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' })
    await answer.body?.cancel()
    return String(answer.status)
  } catch (error) {
    const { cause, message: text } = error as Error
    return `not delivered: ${cause instanceof Error ? cause.message : text}`
  }
}

function generateSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`
}
