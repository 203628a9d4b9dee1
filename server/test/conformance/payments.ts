import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { ForgedEvent, PaymentError } from '../../src/payments/provider.ts'
import { makeBill, pro, startup, type PaymentsHarness } from './payments-suite.ts'

/** The promises of a payment provider that collects, whoever it is. */
export function describePayments(name: string, harness: () => PaymentsHarness): void {
  describe(`${name} keeps the promises of a payment provider`, () => {
    const newOrganizationId = () => `org_${randomBytes(13).toString('hex')}` as const
    const subscribe = async (price = pro) => {
      const { provider, pay, returnUrl } = harness()
      const organizationId = newOrganizationId()
      const customerId = await provider.openCustomer({ organizationId, name: 'A', email: null })
      const order = {
        organizationId,
        customerId,
        price,
        successUrl: `${returnUrl}?done`,
        cancelUrl: returnUrl,
      }
      const page = await provider.checkout(order)
      await pay(page.url)
      const { subscription } = await provider.readCustomer(customerId)
      return { organizationId, customerId, page, order, subscriptionId: subscription!.id }
    }

    test('an organization has one customer, whoever asks first', async () => {
      const { provider, other } = harness()
      const customer = { organizationId: newOrganizationId(), name: 'A', email: 'a@example.com' }
      const ids = await Promise.all([
        provider.openCustomer(customer),
        other.openCustomer({ ...customer, name: 'B', email: null }),
        provider.openCustomer(customer),
      ])
      assert.equal(new Set(ids).size, 1)
      const stranger = { ...customer, organizationId: newOrganizationId() }
      assert.notEqual(await provider.openCustomer(stranger), ids[0])
    })

    test('a customer who has not bought has no subscription', async () => {
      const { provider, returnUrl } = harness()
      const organizationId = newOrganizationId()
      const customerId = await provider.openCustomer({ organizationId, name: 'A', email: null })
      const none = { subscription: null, otherSubscriptionIds: [], owes: false }
      assert.deepEqual(await provider.readCustomer(customerId), none)
      const urls = { successUrl: returnUrl, cancelUrl: returnUrl }
      await provider.checkout({ organizationId, customerId, price: pro, ...urls })
      assert.deepEqual(await provider.readCustomer(customerId), none)
    })

    test('a page that is paid on begins a subscription to its plan, for the rest of the month', async () => {
      const { provider, restOfMonth, charges } = harness()
      const { customerId, subscriptionId } = await subscribe()
      assert.deepEqual((await provider.readCustomer(customerId)).subscription, {
        id: subscriptionId,
        state: 'active',
        planId: 'pro',
        isEnding: false,
        trialEndsAt: null,
        endedAt: null,
      })
      const [charged, ...others] = charges(customerId)
      assert.ok(Math.abs(charged! - 9900 * restOfMonth()) < 2)
      assert.deepEqual(others, [])
    })

    test('a page is ended once, unless it was paid on', async () => {
      const { provider, other } = harness()
      const { page, order } = await subscribe()
      assert.equal(await provider.endCheckout(page.id), 'paid')
      const unpaid = await provider.checkout(order)
      const both = [provider.endCheckout(unpaid.id), other.endCheckout(unpaid.id)]
      assert.deepEqual(await Promise.all(both), ['ended', 'ended'])
      assert.equal(await provider.endCheckout(unpaid.id), 'ended')
    })

    test('a price with another amount is never sold', async () => {
      const { provider, misprice, returnUrl } = harness()
      const price = { ...pro, catalogVersion: 77 }
      const organizationId = newOrganizationId()
      const customerId = await provider.openCustomer({ organizationId, name: 'A', email: null })
      const urls = { successUrl: returnUrl, cancelUrl: returnUrl }
      await provider.checkout({ organizationId, customerId, price, ...urls })
      misprice(price)
      await assert.rejects(
        provider.checkout({ organizationId, customerId, price, ...urls }),
        (error) =>
          error instanceof PaymentError &&
          !error.retryable &&
          /its price at the payment provider is not that of the catalog/.test(error.message),
      )
    })

    test('an increase is charged at once, and a repetition changes nothing', async () => {
      const { provider, charges, restOfMonth } = harness()
      const { customerId, subscriptionId } = await subscribe()
      const change = { subscriptionId, price: startup, isIncrease: true, paid: null }
      assert.deepEqual(await provider.changeSubscription(change), { url: null })
      assert.deepEqual(await provider.changeSubscription(change), { url: null })
      assert.equal((await provider.readCustomer(customerId)).subscription!.planId, 'startup')
      const [, difference, ...others] = charges(customerId)
      assert.ok(Math.abs(difference! - 40_000 * restOfMonth()) < 2)
      assert.deepEqual(others, [])
    })

    test('an increase that has to be confirmed changes nothing until it is', async () => {
      const { provider, setCard, confirm } = harness()
      const { customerId, subscriptionId } = await subscribe()
      setCard(customerId, 'needs_confirmation')
      const change = { subscriptionId, price: startup, isIncrease: true, paid: null }
      const { url } = await provider.changeSubscription(change)
      const planNow = async () => (await provider.readCustomer(customerId)).subscription!.planId
      assert.equal(await planNow(), 'pro')
      await confirm(url!)
      assert.equal(await planNow(), 'startup')
    })

    test('a decrease is neither charged nor refunded, and going back is free', async () => {
      const { provider, charges, restOfMonth } = harness()
      const { customerId, subscriptionId } = await subscribe(startup)
      const decrease = { subscriptionId, price: pro, isIncrease: false, paid: null }
      assert.deepEqual(await provider.changeSubscription(decrease), { url: null })
      const { subscription } = await provider.readCustomer(customerId)
      assert.deepEqual([subscription!.planId, subscription!.state], ['pro', 'active'])
      const back = { subscriptionId, price: startup, isIncrease: false, paid: startup }
      await provider.changeSubscription(back)
      assert.equal(charges(customerId).length, 1)

      // From a decrease that waits, an increase costs the difference to what was paid.
      await provider.changeSubscription(decrease)
      const top = { ...startup, planId: 'top', cents: 99_900 }
      await provider.changeSubscription({
        subscriptionId,
        price: top,
        isIncrease: true,
        paid: startup,
      })
      const [, difference] = charges(customerId)
      assert.ok(Math.abs(difference! - 50_000 * restOfMonth()) < 2)
    })

    test('a payment that fails is due until it is made, and a canceled subscription ends', async () => {
      const { provider, setCard, renew, cancelInPortal, returnUrl } = harness()
      const { customerId, subscriptionId } = await subscribe()
      const read = async () => (await provider.readCustomer(customerId)).subscription!
      setCard(customerId, 'declined')
      renew(customerId)
      assert.equal((await read()).state, 'past_due')
      setCard(customerId, 'good')
      renew(customerId)
      assert.equal((await read()).state, 'active')
      await cancelInPortal((await provider.portal(customerId, returnUrl)).url)
      assert.deepEqual([(await read()).state, (await read()).isEnding], ['active', true])
      await provider.changeSubscription({
        subscriptionId,
        price: pro,
        isIncrease: false,
        paid: null,
      })
      assert.equal((await read()).isEnding, false)
      await provider.cancelSubscription(subscriptionId)
      await provider.cancelSubscription(subscriptionId)
      const ended = await read()
      assert.deepEqual([ended.state, ended.id], ['canceled', subscriptionId])
      assert.ok(ended.endedAt instanceof Date)
    })

    test('the newest subscription that goes on counts, and others are told', async () => {
      const { provider, pay } = harness()
      const { customerId, order, subscriptionId } = await subscribe()
      await pay((await provider.checkout({ ...order, price: startup })).url)
      const two = await provider.readCustomer(customerId)
      assert.deepEqual(
        [two.subscription!.planId, two.otherSubscriptionIds],
        ['startup', [subscriptionId]],
      )
      await provider.cancelSubscription(two.subscription!.id)
      const one = await provider.readCustomer(customerId)
      assert.deepEqual([one.subscription!.id, one.otherSubscriptionIds], [subscriptionId, []])
    })

    test('a period is charged by one invoice, however often its steps are done', async () => {
      const { provider, other, invoices, forgetKeys } = harness()
      const { customerId, organizationId } = await subscribe()
      const bill = makeBill(organizationId, customerId)
      const lines = { compute_standard_seconds: 1300, egress_bytes: 7 }
      for (const { charge } of [provider, other, provider]) {
        const id = await charge.draft(bill)
        await charge.fill(id, bill)
        await charge.send(id, bill)
        assert.deepEqual(invoices(customerId), [{ id, status: 'paid', lines }])
        forgetKeys()
      }
      const next = { ...bill, periodId: bill.periodId + 1 }
      assert.notEqual(await provider.charge.draft(next), await provider.charge.draft(bill))
    })

    test('an invoice of a period that cannot be collected is owed', async () => {
      const { provider, setCard, invoices } = harness()
      const { customerId, organizationId } = await subscribe()
      setCard(customerId, 'declined')
      const bill = makeBill(organizationId, customerId)
      const id = await provider.charge.draft(bill)
      await provider.charge.fill(id, bill)
      assert.equal((await provider.readCustomer(customerId)).owes, false)
      await provider.charge.send(id, bill)
      assert.equal(invoices(customerId)[0]!.status, 'open')
      const { owes, subscription } = await provider.readCustomer(customerId)
      assert.deepEqual([owes, subscription!.state], [true, 'active'])
    })

    test('a notification names its customer; what was altered, is old or unsigned is refused', async () => {
      const { provider, notifications } = harness()
      const { customerId } = await subscribe()
      const found = []
      for (const { body, headers } of notifications()) {
        const event = await provider.verify(body, headers)
        if (event?.customerId === customerId) found.push(event)
        const altered = Buffer.from(body.toString().replace(/"livemode":false/, '"livemode":true'))
        await assert.rejects(provider.verify(altered, headers), ForgedEvent)
        await assert.rejects(provider.verify(body, {}), ForgedEvent)
      }
      assert.ok(found.some(({ type }) => type === 'checkout.session.completed'))
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length)
    })

    test('calls that cannot work fail for good', async () => {
      const { provider, returnUrl } = harness()
      const isFinal = (error: unknown) => error instanceof PaymentError && !error.retryable
      await assert.rejects(provider.portal('cus_none', returnUrl), isFinal)
      await assert.rejects(provider.endCheckout('cs_none'), isFinal)
      await assert.rejects(provider.cancelSubscription('sub_none'), isFinal)
      const gone = await provider.readCustomer('cus_none')
      assert.deepEqual([gone.subscription, gone.owes], [null, false])
    })
  })
}
