import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { payments } from '../../server/test/fake-payments/controls.ts'
import { startFakeStripe } from '../../server/test/fake-payments/stripe.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { addMember } from './signing-in.ts'
import { disabledControls } from './spoken.ts'

after(closeBrowser)

async function startShop(t: Parameters<typeof startDashboard>[0]) {
  const fake = await startFakeStripe(t)
  const dashboard = await startDashboard(t, {
    env: { ...fake.env, COMPUTER_SIGNUP_PLAN: 'free' },
  })
  fake.webhooks.listenAt(`${dashboard.url}/v1/billing/webhooks/stripe`)
  return { fake, dashboard, people: payments(fake) }
}

test('a plan is bought: to the payment and back, waiting until it is confirmed', async (t) => {
  const { fake, dashboard } = await startShop(t)
  fake.webhooks.hold()
  const page = await openPage(t, dashboard, '/billing')
  const plan = page.getByRole('region', { name: 'Plan', exact: true })
  await plan.getByText(/^Free/).first().waitFor()

  // Back without a purchase, and a card that is declined.
  await page.getByRole('button', { name: 'Choose Pro' }).click()
  await page.getByRole('heading', { name: 'Subscribe to Pro' }).waitFor()
  await page.getByRole('link', { name: 'Back' }).click()
  await page.waitForURL(`${dashboard.url}/billing`)
  await page.getByRole('button', { name: 'Choose Pro' }).click()
  await page.getByRole('button', { name: 'Pay with a card that is declined' }).click()
  await page.getByRole('alert').getByText('Your card was declined.').waitFor()
  assert.equal((await dashboard.owner.call('GET', '/v1/billing')).body.plan.id, 'free')

  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  await page.waitForURL(`${dashboard.url}/billing?chosen=pro`)
  const waiting = page.getByRole('status').filter({ hasText: 'is being confirmed' })
  await waiting.waitFor()
  await plan.getByText(/^Free/).first().waitFor()
  await fake.webhooks.release()
  await plan.getByText(/^Pro/).waitFor()
  await plan.getByText('Active').waitFor()
  await waiting.waitFor({ state: 'detached' })
  await page.waitForURL(`${dashboard.url}/billing`)
})

test('a subscription is changed after a question, and managed on the page of the provider', async (t) => {
  const { fake, dashboard, people } = await startShop(t)
  const { call } = dashboard.owner
  const successUrl = `${dashboard.url}/billing`
  const bought = await call('POST', '/v1/billing/checkout', {
    plan_id: 'pro',
    success_url: successUrl,
  })
  await people.pay(bought.body.url)
  const page = await openPage(t, dashboard, '/billing?chosen=pro')
  const plan = page.getByRole('region', { name: 'Plan', exact: true })
  await plan.getByText(/^Pro/).waitFor()

  await page.getByRole('button', { name: 'Choose Startup' }).click()
  // A message that the plan was chosen is a dialog too.
  const question = page.getByRole('dialog', { name: 'Change the subscription to' })
  await question.getByText('is charged to the means of payment on file').waitFor()
  await question.getByRole('button', { name: 'Cancel' }).click()
  await question.waitFor({ state: 'detached' })
  await plan.getByText(/^Pro/).waitFor()
  await page.getByRole('button', { name: 'Choose Startup' }).click()
  await question.getByRole('button', { name: 'Change the subscription' }).click()
  await plan.getByText(/^Startup/).waitFor()

  await page.getByRole('button', { name: 'Choose Free' }).waitFor()
  const free = (await disabledControls(page)).find(({ name }) => name === 'Choose Free')
  assert.match(free!.description, /Cancel the subscription under Manage payment/)
  await plan.getByRole('button', { name: 'Manage payment' }).click()
  // The browser is back before the server hears of it.
  fake.webhooks.hold()
  await page.getByRole('button', { name: 'Cancel the subscription' }).click()
  await page.getByText('It ends with the month.').waitFor()
  await page.getByRole('link', { name: 'Back' }).click()
  await plan.getByText(/^Startup/).waitFor()
  await fake.webhooks.release()
  await plan.getByText(/on, the plan is Free/).waitFor()
})

test('who may not change the plan hears why', async (t) => {
  const { dashboard } = await startShop(t)
  const member = await addMember(dashboard, { email: 'grace@example.com', name: 'Grace Hopper' })
  const page = await openPage(t, dashboard, '/billing', { as: member })
  await page.getByRole('button', { name: 'Manage payment' }).waitFor()
  await page
    .getByRole('button', { name: /^Choose / })
    .first()
    .waitFor()
  const controls = await disabledControls(page)
  assert.ok(controls.some(({ name }) => name === 'Manage payment'))
  assert.ok(controls.some(({ name }) => name === 'Choose Pro'))
  for (const { description } of controls) assert.match(description, /^You may not/)
})
