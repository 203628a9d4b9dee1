import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { bar, card, createAsker } from './help-pages.ts'
import { tabTo } from './keyboard.ts'
import { addMember } from './signing-in.ts'
import { canvas, driver, picture } from './screen-pages.ts'

/* Help requests, as the people of the organization answer them. */

after(closeBrowser)

const dashboard = await startDashboard({ after })
const agent = await createAsker(dashboard, 'desk')

test('the inbox and its count follow what agents ask and what becomes of it', async (t) => {
  const page = await openPage(t, dashboard, '/help-requests')
  await page.getByText('Nobody has asked for help').waitFor()
  const link = page.getByRole('link', { name: /^Help requests/ })
  const first = await agent.ask({ reason: 'two_factor', message: 'Type the code.' })
  await card(page, 'Type the code.').waitFor()
  await card(page, 'A second factor').waitFor()
  const text = (await card(page, 'Type the code.').textContent()) ?? ''
  assert.match(
    text,
    /Waiting.*on desk.*shop-agent \(API key\) asked .* ago and waits until \w+ \d+, \d+/,
  )
  assert.match(text, /Private: while you have it, nobody else can see the screen; programs inside/)
  await card(page, 'Type the code.').locator('img').waitFor()
  await link.getByText('1').waitFor()

  const second = await agent.ask({ reason: 'question', message: 'Which size?', private: false })
  await card(page, 'Which size?').waitFor()
  await link.getByText('2').waitFor()
  await agent.call('POST', `/v1/help-requests/${second.id}/cancel`)
  await page.getByRole('heading', { name: 'Earlier' }).waitFor()
  await page.getByText('The request was cancelled, because the help is no longer needed.').waitFor()

  await card(page, 'Type the code.').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Cancel the request' }).click()
  await page.getByText('Nobody waits for help.').waitFor()
  await agent.untilState(first, 'cancelled')
  assert.equal(await link.textContent(), 'Help requests')
})

test('an answer without the screen is given by keyboard alone', async (t) => {
  const choices = ['Buy it', 'Leave it']
  const help = await agent.ask({ reason: 'approval', message: 'Buy for $20?', choices })
  const page = await openPage(t, dashboard, '/help-requests')
  await tabTo(page, card(page, 'Buy for $20?').getByRole('button', { name: 'Answer' }))
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Answer the agent' })
  await tabTo(page, dialog.getByLabel('Words for the agent'))
  await page.keyboard.type('But not today')
  await tabTo(page, dialog.getByRole('button', { name: 'Leave it' }))
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  const { answer } = await agent.untilState(help, 'done')
  assert.deepEqual([answer.choice, answer.text], ['Leave it', 'But not today'])
  const earlier = page.getByRole('listitem').filter({ hasText: 'Buy for $20?' })
  await earlier.getByText('Ada Lovelace handed it back: done, and chose Leave it.').waitFor()
  await earlier.getByText('But not today').waitFor()
})

test('taking over drives the machine with the session that the server opened, and hands it back', async (t) => {
  const help = await agent.ask()
  const session = await agent.call('POST', '/v1/sessions', { machine_id: agent.id })
  await agent.call('POST', `/v1/machines/${agent.id}/input-lease`, { session_id: session.body.id })
  const page = await openPage(t, dashboard, '/help-requests')
  await card(page, 'Sign in').getByRole('button', { name: 'Take over' }).click()
  await page.waitForURL(`**${agent.path}`)
  await driver(page, 'you').waitFor()
  const { session_id } = await agent.untilState(help, 'active')
  assert.equal((await agent.lease()).holder?.session_id, session_id)
  await bar(page)
    .getByText('Nobody else can see this screen now; programs inside the machine can.')
    .waitFor()
  await canvas(page).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('a')
  await agent.until('press a', 'release a')

  await bar(page).getByLabel('Words for the agent').fill('You are in')
  await bar(page).getByRole('button', { name: 'Hand back: done' }).click()
  await page.getByText('Ada Lovelace handed it back: done.').waitFor()
  await driver(page, 'nobody').waitFor()
  const { answer } = await agent.untilState(help, 'done')
  assert.equal(answer.text, 'You are in')
  await eventually(async () => (await agent.lease()).holder === null || undefined)
  await page.getByRole('button', { name: 'Dismiss' }).click()

  // The brief of the agent.
  await page.goto(`${dashboard.url}/help-requests`)
  const earlier = page.getByRole('listitem').filter({ hasText: 'You are in' })
  await earlier.getByText('What changed meanwhile').click()
  await earlier.getByText('The clipboard is as before.').waitFor()
  for (const name of ['The screen before', 'The screen after']) {
    const image = earlier.getByRole('img', { name })
    await eventually(
      async () =>
        (await image.evaluate((one) => (one as HTMLImageElement).naturalWidth)) > 0 || undefined,
    )
  }
})

test('a screen offers the request of its agent, which can be left open or declined', async (t) => {
  const page = await openPage(t, dashboard, agent.path)
  await picture(page, 'live').waitFor()
  const help = await agent.ask({ reason: 'captcha', message: 'Which are traffic lights?' })
  await bar(page).getByRole('button', { name: 'Take over for this request' }).click()
  await driver(page, 'you').waitFor()
  await bar(page).getByRole('button', { name: 'Leave it open' }).click()
  await driver(page, 'nobody').waitFor()
  await agent.untilState(help, 'open')
  // The person drives already when they take the request.
  await page.getByRole('button', { name: 'Take over', exact: true }).click()
  await driver(page, 'you').waitFor()
  await bar(page).getByRole('button', { name: 'Take over for this request' }).click()
  const { session_id } = await agent.untilState(help, 'active')
  await driver(page, 'you').waitFor()
  assert.equal((await agent.lease()).holder?.session_id, session_id)
  await bar(page).getByRole('button', { name: 'Cannot do it: declined' }).click()
  await page.getByText('Ada Lovelace could not do it.').waitFor()
  await agent.untilState(help, 'declined')
})

test('leaving the page leaves the request open', async (t) => {
  const help = await agent.ask({ message: 'Only briefly.' })
  const page = await openPage(t, dashboard, agent.path)
  const take = async () => {
    await bar(page).getByRole('button', { name: 'Take over for this request' }).click()
    await driver(page, 'you').waitFor()
    await agent.untilState(help, 'active')
  }
  await take()
  await page.getByRole('link', { name: 'Timeline', exact: true }).click()
  await agent.untilState(help, 'open')
  await page.getByText('took over to help, a sign-in').first().waitFor()
  await page.goto(dashboard.url + agent.path)
  await take()
  await page.goto(`${dashboard.url}/favicon.svg`)
  await agent.untilState(help, 'open')
  await agent.call('POST', `/v1/help-requests/${help.id}/cancel`)
})

test('a private screen tells another person whose it is, and comes back by itself', async (t) => {
  const help = await agent.ask()
  const other = await addMember(dashboard, { email: 'grace@example.com', name: 'Grace Hopper' })
  const inbox = await openPage(t, dashboard, '/help-requests', { as: other })
  const watching = await openPage(t, dashboard, agent.path, { as: other })
  await picture(watching, 'live').waitFor()
  const page = await openPage(t, dashboard, agent.path)
  await bar(page).getByRole('button', { name: 'Take over for this request' }).click()
  await driver(page, 'you').waitFor()
  await picture(watching, 'private').waitFor()
  await watching.getByText('The screen is private to Ada Lovelace now.').waitFor()
  assert.equal(await watching.locator('[data-picture] canvas').count(), 0)
  await card(inbox, 'Ada Lovelace has had it').getByText('The screen is private').waitFor()
  const button = card(inbox, 'Sign in').getByRole('button', { name: 'Take over' })
  assert.equal(await button.getAttribute('aria-disabled'), 'true')

  // So does a page that is opened meanwhile.
  await watching.reload()
  await watching.getByText('The screen is private to Ada Lovelace now.').waitFor()
  await bar(page).getByRole('button', { name: 'Hand back: done' }).click()
  await agent.untilState(help, 'done')
  await picture(watching, 'live').waitFor()
})

test('a person who loses the screen is told to whom, and another page of theirs does not drive', async (t) => {
  const help = await agent.ask({ private: false, message: 'Be quick.' })
  const page = await openPage(t, dashboard, agent.path)
  await bar(page).getByRole('button', { name: 'Take over for this request' }).click()
  await driver(page, 'you').waitFor()
  const second = await openPage(t, dashboard, agent.path)
  await bar(second).getByText('You have taken it, and this page does not drive').waitFor()
  await driver(second, 'another').waitFor()
  await bar(second).getByRole('button', { name: 'Take over here' }).click()
  await driver(second, 'you').waitFor()
  const session = await agent.call('POST', '/v1/sessions', { machine_id: agent.id })
  const lease = { session_id: session.body.id, force: true, ttl_seconds: 60 }
  await agent.call('POST', `/v1/machines/${agent.id}/input-lease`, lease)
  for (const one of [page, second]) await one.getByText('shop-agent took over').waitFor()
  // The server opens the request again, because its person has lost the screen.
  await agent.untilState(help, 'open')
  await bar(second).getByRole('button', { name: 'Take over for this request' }).click()
  await driver(second, 'you').waitFor()
  await bar(page).getByText('You have taken it, and this page does not drive').waitFor()
  await agent.call('POST', `/v1/help-requests/${help.id}/cancel`)
  await second
    .getByText('The request was cancelled, because the help is no longer needed.')
    .waitFor()
  await second
    .getByText(/Nobody drives|Your control has ended/)
    .first()
    .waitFor()
})
