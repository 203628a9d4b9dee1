import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import Stripe from 'stripe'
import { createNoPayments } from '../src/payments/none.ts'
import { createStripe } from '../src/payments/stripe/provider.ts'
import { ForgedEvent, PaymentError } from '../src/payments/provider.ts'
import { describePayments } from './conformance/payments.ts'
import type { PaymentsHarness } from './conformance/payments-suite.ts'
import { payments } from './fake-payments/controls.ts'
import { startFakeStripe } from './fake-payments/stripe.ts'

const fake = await startFakeStripe({ after })

const makeProvider = () =>
  createStripe({
    secretKey: fake.secretKey,
    webhookSecret: fake.webhookSecret,
    apiUrl: fake.url,
  })

describePayments('Stripe', (): PaymentsHarness => {
  const controls = payments(fake)
  const { webhooks } = new Stripe('sk_test_fake')
  return {
    ...controls,
    provider: makeProvider(),
    other: makeProvider(),
    returnUrl: 'http://127.0.0.1/billing',
    notifications: () =>
      fake.webhooks.events.map((event) => {
        const payload = JSON.stringify(event)
        const signature = webhooks.generateTestHeaderString({ payload, secret: fake.webhookSecret })
        return { body: Buffer.from(payload), headers: { 'stripe-signature': signature } }
      }),
    misprice({ planId, catalogVersion }) {
      for (const price of fake.state.prices.values()) {
        if (price.lookup_key === `computer_${planId}_v${catalogVersion}`) price.unit_amount = 1
      }
    },
  }
})

test('without a provider nothing is collected, and everything else says so', async () => {
  const none = createNoPayments()
  assert.equal(none.collectsPayments, false)
  assert.deepEqual(await none.readCustomer('cus_1'), {
    subscription: null,
    otherSubscriptionIds: [],
    owes: false,
  })
  const isRefusal = (error: unknown) =>
    error instanceof PaymentError && !error.retryable && /ask its operator/.test(error.message)
  await assert.rejects(none.portal('cus_1', 'http://127.0.0.1/'), isRefusal)
  await assert.rejects(none.cancelSubscription('sub_1'), isRefusal)
  await assert.rejects(none.verify(Buffer.from('{}'), {}), isRefusal)
  await assert.rejects(none.charge.send('in_1', {} as never), isRefusal)
})

test('a notification may be five minutes old, and no older', async () => {
  const { webhooks } = new Stripe('sk_test_fake')
  const event = {
    id: 'evt_1',
    object: 'event',
    type: 'invoice.paid',
    data: { object: { id: 'in_1', customer: 'cus_1' } },
  }
  const payload = JSON.stringify(event)
  const signedAt = (secondsAgo: number, secret = fake.webhookSecret) => ({
    'stripe-signature': webhooks.generateTestHeaderString({
      payload,
      secret,
      timestamp: Math.floor(Date.now() / 1000) - secondsAgo,
    }),
  })
  const provider = makeProvider()
  const body = Buffer.from(payload)
  const read = await provider.verify(body, signedAt(250))
  assert.deepEqual(read, { id: 'evt_1', type: 'invoice.paid', customerId: 'cus_1' })
  await assert.rejects(provider.verify(body, signedAt(400)), ForgedEvent)
  await assert.rejects(provider.verify(body, signedAt(0, 'whsec_other')), ForgedEvent)
})

test('a failure of Stripe passes, a refusal does not, and neither says what Stripe said', async (t) => {
  const provider = makeProvider()
  const url = 'http://127.0.0.1/'
  t.after(() => {
    fake.control.interrupt = undefined
  })
  fake.control.interrupt = () => 'before'
  await assert.rejects(
    provider.portal('cus_1', url),
    (error) =>
      error instanceof PaymentError && error.retryable && !/broken off/.test(error.message),
  )
  fake.control.interrupt = undefined
  await assert.rejects(
    provider.portal('cus_1', url),
    (error) => error instanceof PaymentError && !error.retryable && !/cus_1/.test(error.message),
  )
})

test('a wrong key is a failure for the operator, and no key is logged', async () => {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const secretKey = 'sk_test_wrongAbCd'
  const provider = createStripe({ secretKey, webhookSecret: 'whsec_wrong', apiUrl: fake.url })
  for (const work of [
    () => provider.portal('cus_1', 'http://127.0.0.1/'),
    () => provider.verify(Buffer.from('{}'), { 'stripe-signature': 't=1,v1=00' }),
  ]) {
    await assert.rejects(work, (error) => {
      log.warn({ err: error }, 'failed')
      return error instanceof ForgedEvent || (error instanceof PaymentError && !error.retryable)
    })
  }
  assert.equal(lines.length, 2)
  assert.match(lines[0]!, /Invalid API Key/)
  assert.doesNotMatch(lines.join(), /sk_test_wrong|whsec_wrong/)
})
