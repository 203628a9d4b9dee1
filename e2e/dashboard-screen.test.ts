import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { canvas, driver, picture, takeOver } from '../dashboard/test/screen-pages.ts'
import { createApiClient, type ApiClient } from './harness/api.ts'
import { launchChromium } from './harness/chromium.ts'
import { openAs } from './harness/dashboard-page.ts'
import { signInOwner, type Person } from './harness/person.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * The screen of the dashboard on a real machine: what people see and type, and what reaches the programs on
 * its desktop. The tests build on each other.
 */

/** Leads to this host, but browsers trust it as little as any address without https. */
const plainHost = '192.0.2.1'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true }

let server: RealServer
let browser: Browser
let ada: Person
let grace: Person
let agent: ApiClient
let id = ''
const path = (rest: string) => `/v1/machines/${id}/${rest}`
const contexts: BrowserContext[] = []

before(async () => {
  server = await joinServer()
  browser = await launchChromium([`--host-resolver-rules=MAP ${plainHost} 127.0.0.1`])
  ada = await signInOwner(server, 'Ada')
  grace = await signInOwner(server, 'Grace')
  const scopes = ['machines:write', 'machines:control', 'sessions:write']
  const { secret } = await ada.ok('POST', '/v1/api-keys', { name: 'CI bot', scopes })
  agent = createApiClient(server.api.baseUrl, secret)
  id = (await agent.ok('POST', '/v1/machines', { name: 'desk' })).id
  await agent.waitForDesktop(id)
  await openProgram('typed.txt')
})
after(async () => {
  for (const context of contexts) await context.close()
  await browser?.close()
  await server?.[Symbol.asyncDispose]()
})

test('after a takeover nothing of a typing agent arrives, and all tabs name the new holder', async (t) => {
  const page = await open(ada)
  const others = [await open(grace), await open(grace)]
  for (const other of others) await noteWhen(other, 'Ada holds it')
  const session = await agent.ok('POST', '/v1/sessions', { machine_id: id })
  await agent.ok('POST', path('input-lease'), { session_id: session.id })
  for (const other of others) await other.getByText(/CI bot holds it, \d+ s left/).waitFor()

  const statuses: number[] = []
  let isTyping = true
  const typing = (async () => {
    while (isTyping) {
      const { status } = await agent.call('POST', path('keyboard/type'), { text: '1234567890' })
      statuses.push(status)
    }
  })()
  await eventually('the agent types', async () => (await readTyped()).length > 30)
  await takeOver(page)
  await page.keyboard.type('ada')
  await eventually('the text of the person arrives', async () =>
    (await readTyped()).endsWith('ada'),
  )
  // The agent goes on trying.
  const tries = statuses.length
  await eventually('the agent has tried again', async () => statuses.length > tries + 5)
  isTyping = false
  await typing
  assert.equal(statuses.at(-1), 409)
  assert.match(await readTyped(), /^[0-9]+ada$/)

  const answeredAt = await page.evaluate<number>(`performance.timeOrigin + Math.max(
    ...performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('/input-lease'))
      .map(({ responseEnd }) => responseEnd))`)
  for (const other of others) {
    await driver(other, 'another').waitFor()
    const namedAt = await other.evaluate<number>('window.namedAt')
    t.diagnostic(`another tab names the holder ${Math.round(namedAt - answeredAt)} ms later`)
    assert.ok(Number.isFinite(namedAt))
  }
  await page.getByRole('button', { name: 'Hand back' }).click()
  for (const other of others) await driver(other, 'nobody').waitFor()
})

test('a killed gateway dims the picture; after its return nothing is typed twice', async (t) => {
  await openProgram('typed-again.txt')
  const page = await open(ada)
  await takeOver(page)
  await page.keyboard.type('before')
  await eventually('it arrives', async () => (await readTyped('typed-again.txt')) === 'before')
  const killedAt = performance.now()
  await server.kill('gateway')
  await picture(page, 'old').waitFor()
  t.diagnostic(`dimmed ${Math.round(performance.now() - killedAt)} ms after the kill`)
  await page.getByText(/This picture is \d+ s old/).waitFor()
  await page.keyboard.type('meanwhile')
  await eventually('the gateway is back', async () => {
    const { gateway_url } = await ada.ok('GET', '/v1/auth/me')
    return fetch(gateway_url.replace(/^ws/, 'http')).then(
      () => true,
      () => false,
    )
  })
  const backAt = performance.now()
  await picture(page, 'live').waitFor()
  t.diagnostic(`live ${Math.round(performance.now() - backAt)} ms after its return`)
  await canvas(page).and(page.locator(':focus')).waitFor()
  await driver(page, 'you').waitFor()
  await page.keyboard.type(' after')
  await eventually('it arrives', async () =>
    (await readTyped('typed-again.txt')).endsWith(' after'),
  )
  assert.equal(await readTyped('typed-again.txt'), 'before after')
  await page.close()
})

for (const host of ['127.0.0.1', plainHost]) {
  test(`10,000 characters are pasted without any permission, on http://${host}`, async () => {
    const file = `/home/agent/pasted-${host}.txt`
    const text = Array.from({ length: 2_000 }, (_, at) => `é漢🜁ж${at % 10}`).join('')
    assert.equal([...text].length, 10_000)
    await agent.run(id, ['sh', '-c', `: > ${file}`])
    await agent.launch(id, `mousepad --disable-server ${file}`)
    const page = await open(ada, host)
    assert.equal(await page.evaluate('isSecureContext'), host === '127.0.0.1')
    await picture(page, 'live').waitFor()
    await copyOnPage(page, text)
    await takeOver(page)
    await eventually('the editor is in front', async () => {
      const { stdout } = await agent.ok('POST', path('exec'), {
        command: ['xdotool', 'getactivewindow', 'getwindowname'],
        env: { DISPLAY: ':0' },
      })
      return stdout.includes('pasted-')
    })
    await page.keyboard.press('Control+v')
    let last = ''
    await eventually('the text is saved', async () => {
      // The editor reads the clipboard later than the next key.
      await page.keyboard.press('Control+s')
      last = (await agent.run(id, ['cat', file])).trimEnd()
      return last === text
    }).catch((error: Error) =>
      assert.fail(`${error.message}; it has ${last.length} of ${text.length}`),
    )
    await page.keyboard.press('Control+q')
    await page.close()
  })
}

test('in full screen, Esc in vi reaches vi', async () => {
  await agent.launch(id, `xfce4-terminal --geometry 80x24+100+100 -x vi /home/agent/vi.txt`)
  const page = await open(ada)
  await takeOver(page)
  await eventually('vi is in front', async () => {
    const found = await agent.call('POST', path('exec'), { command: 'pgrep -x vi || pgrep -x vim' })
    return found.body.stdout !== ''
  })
  await page.evaluate(`
    window.locks = 0
    const lock = navigator.keyboard.lock.bind(navigator.keyboard)
    navigator.keyboard.lock = (...keys) => { window.locks++; return lock(...keys) }
  `)
  await page.getByRole('button', { name: 'Full screen' }).click()
  await page.getByRole('button', { name: 'Leave the full screen' }).waitFor()
  await eventually('the page is full screen and has the keyboard', () =>
    page.evaluate<boolean>('document.fullscreenElement !== null && window.locks === 1'),
  )
  await canvas(page).click({ position: { x: 300, y: 300 } })
  await page.keyboard.type('itext')
  await page.keyboard.press('Escape')
  await page.keyboard.type(':wq')
  await page.keyboard.press('Enter')
  await eventually('vi has written its file', async () => {
    const answer = await agent.call('GET', path('files/content?path=vi.txt'))
    return answer.body?.content === 'text\n'
  })
  assert.equal(await page.evaluate('document.fullscreenElement !== null'), true)
  await page.getByRole('button', { name: 'Leave the full screen' }).click()
  await eventually('the full screen has ended', () =>
    page.evaluate<boolean>('document.fullscreenElement === null'),
  )
  await page.close()
})

test('a phone takes over, types and hands back by touch', async () => {
  await openProgram('touched.txt')
  const page = await open(ada, '127.0.0.1', phone)
  await page.getByRole('button', { name: 'Take over' }).tap()
  await canvas(page).waitFor()
  await page.getByRole('button', { name: 'Type text' }).tap()
  await page.getByLabel('Text to type').fill('by touch, 漢')
  await page.getByRole('button', { name: 'Type', exact: true }).tap()
  await eventually('it arrives', async () => (await readTyped('touched.txt')) === 'by touch, 漢')
  await page.getByRole('button', { name: 'Hand back' }).tap()
  await driver(page, 'nobody').waitFor()
  await page.close()
})

async function open(person: Person, host = '127.0.0.1', options = {}): Promise<Page> {
  const url = new URL(server.api.baseUrl)
  url.hostname = host
  const context = await openAs(browser, person, url.origin, options)
  contexts.push(context)
  const page = await context.newPage()
  await page.goto(`${url.origin}/m/${id}`)
  await picture(page, 'live').waitFor()
  return page
}

/** Notes the time at which the page first says so. */
async function noteWhen(page: Page, text: string): Promise<void> {
  await page.evaluate(`new MutationObserver(() => {
    if (!window.namedAt && document.body.textContent.includes(${JSON.stringify(text)}))
      window.namedAt = performance.timeOrigin + performance.now()
  }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
}

/** Copies as a person does, which needs no permission. */
async function copyOnPage(page: Page, text: string): Promise<void> {
  await page.evaluate(`{
    const field = document.createElement('textarea')
    document.body.append(field)
    field.value = ${JSON.stringify(text)}
    field.select()
  }`)
  await page.keyboard.press('Control+c')
  await page.evaluate('document.activeElement.remove()')
}

/** A terminal whose program writes each character that is typed to a file. */
async function openProgram(file: string): Promise<void> {
  await server.api.launch(id, `xfce4-terminal -x sh -c 'stty -icanon; exec cat >${file}'`)
  await eventually('the program reads', async () => {
    const answer = await server.api.call('GET', path(`files/content?path=${file}`))
    return answer.status === 200
  })
}

async function readTyped(file = 'typed.txt'): Promise<string> {
  return (await server.api.ok('GET', path(`files/content?path=${file}`))).content as string
}
