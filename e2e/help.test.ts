import { Computer, type HelpResult } from '@computer/sdk'
import { ApiKeyScope } from '@computer/contract'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { bar, takeAsGuest } from '../dashboard/test/help-pages.ts'
import { canvas, picture } from '../dashboard/test/screen-pages.ts'
import { findTraces } from './guest/secret-traces.ts'
import { launchChromium, silentDecoder } from './harness/chromium.ts'
import { signInOwner } from './harness/person.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * A person in the loop, on a real machine: an agent meets a login page and asks for help; somebody without an account
 * signs in on a phone and hands the machine back; the agent goes on. What the person typed is nowhere afterwards.
 */

const password = 'passphrase4d1c8b7a9e2f60canary'
/** The name of the user, which the site keeps in a file, where the search must find it. */
const user = 'username4d1c8b7a9e2f60control'

let server: RealServer
let browser: Browser
let id = ''

before(async () => {
  ;[server, browser] = await Promise.all([joinServer(), launchChromium()])
  id = (await server.api.ok('POST', '/v1/machines', { name: 'shopper' })).id
  await server.api.waitForDesktop(id)
})
after(async () => {
  await browser?.close()
  await server?.[Symbol.asyncDispose]()
})

test('an agent asks at a login page, a guest signs in on a phone, and the agent goes on', async () => {
  const owner = await signInOwner(server, 'Owner')
  // Never delivered, because no such host is: its messages are rows that the search looks through.
  const hook = { url: 'https://receiver.invalid/hook' }
  await owner.ok('POST', '/v1/webhooks', hook)
  const key = await owner.ok('POST', '/v1/api-keys', { name: 'Robot', scopes: ApiKeyScope.options })
  await using computer = new Computer({ baseUrl: server.api.baseUrl, apiKey: key.secret })
  const machine = await computer.machines.get(id)
  await server.api.ok('PUT', path('files/content'), { path: 'site.py', content: site })
  await server.api.launch(id, 'python3 site.py')
  await eventually('the site answers', async () => {
    const { exit_code } = await exec(['curl', '-sf', '127.0.0.1:8000'])
    return exit_code === 0
  })
  await server.api.launch(id, 'env DISPLAY=:0 chromium --new-window 127.0.0.1:8000')
  await eventually('the login page is in front', async () => (await title()).includes('Sign in'))
  await machine.mouse.move(400, 300)

  const asked = Promise.withResolvers<string>()
  const outcome: Promise<HelpResult> = machine.askForHelp({
    reason: 'login',
    message: 'Please sign in to the shop.',
    onRequested: ({ takeoverUrl }) => asked.resolve(takeoverUrl!),
  })
  outcome.catch(asked.reject)

  const phone = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    locale: 'en-US',
  })
  await phone.addInitScript(silentDecoder)
  const page = await phone.newPage()
  await page.goto(await asked.promise)
  await page.getByText('Please sign in to the shop.').waitFor()
  await takeAsGuest(page, 'Grace')
  await picture(page, 'live').waitFor()

  for (const [method, at, body] of looks) {
    const { status, body: refusal } = await robot(key.secret, method, at, body)
    assert.deepEqual([status, refusal.error.code], [409, 'conflict'], at)
  }
  const type = async (text: string) => {
    const field = page.getByRole('textbox', { name: 'Text to type' })
    await field.fill(text)
    await page.getByRole('button', { name: 'Type', exact: true }).click()
    await eventually('the text is typed', async () => (await field.inputValue()) === '')
  }
  await page.getByRole('button', { name: 'Type text' }).click()
  // Chromium drops keys while it starts, so the person tries until the field takes them.
  await eventually('the first field has the keyboard', async () => {
    await canvas(page).tap()
    await type(user)
    return (await notes()).includes(user)
  })
  await page.getByRole('button', { name: 'Tab', exact: true }).click()
  await type(password)
  await page.getByRole('button', { name: 'Enter' }).click()
  await eventually('the person is signed in', async () => (await notes()).includes('signed in'))
  await bar(page).getByRole('button', { name: 'Hand back: done' }).click()
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()

  const { brief, by, ...rest } = await outcome
  assert.deepEqual([rest.outcome, by?.type, by?.name], ['done', 'guest', 'Grace'])
  assert.equal(brief!.isComplete, true)
  assert.deepEqual(brief!.pictures, ['before', 'after'])
  assert.ok(brief!.filesChanged.some((file) => file.path.endsWith('/notes.txt')))
  await machine.screenshot()
  await machine.keyboard.type('two pears\n')
  await eventually('the agent has ordered', async () =>
    (await notes()).includes('ordered two pears'),
  )
  await phone.close()
})

test('what the guest typed is in no log, activity, event, webhook, picture or file of the server', async () => {
  const answers: string[] = []
  for (const at of [path('activity?limit=100'), path('events?limit=100'), '/v1/help-requests']) {
    answers.push((await server.api.call('GET', at)).bytes.toString())
  }
  assert.match(answers[0]!, /"help\.answered"/)
  assert.match(answers[0]!, /"viewer\.input"/)
  for (const answer of answers) assert.ok(!answer.includes(password))
  const { tables, files, processes, engine, disks } = await findTraces(server.dataDir, [
    password,
    user,
  ])
  const leaks = [...tables, ...files, ...processes, ...engine, ...disks]
  assert.deepEqual(
    leaks.filter((line) => line.startsWith(password)),
    [],
  )
  // The search does find what is there.
  assert.ok(disks.some((line) => line.startsWith(user)))
})

/** The looks that an agent could try. */
const looks: readonly (readonly [string, string, object?])[] = [
  ['GET', 'screenshot'],
  ['GET', 'clipboard'],
  ['GET', 'screen/wait?since=scr_none&timeout_ms=0'],
  ['POST', 'mouse/move?then=screenshot', { x: 1, y: 1 }],
]

function path(rest: string): string {
  return `/v1/machines/${id}/${rest}`
}

function robot(secret: string, method: string, at: string, body?: object) {
  return server.api.call(method, path(at), body, { authorization: `Bearer ${secret}` })
}

function exec(command: readonly string[]) {
  const env = { DISPLAY: ':0' }
  return server.api.ok('POST', path('exec'), { command, env }) as Promise<{
    stdout: string
    exit_code: number
  }>
}

async function title(): Promise<string> {
  return (await exec(['xdotool', 'getactivewindow', 'getwindowname'])).stdout
}

async function notes(): Promise<string> {
  return (await exec(['cat', '/home/agent/notes.txt'])).stdout
}

/** A shop with a login page. It notes what happens, and never the password. */
const site = `
import hashlib, http.server, json
PAGE = b'''<!doctype html><meta charset="utf-8"><title>Sign in</title>
<style>body { font: 20px sans-serif; margin: 3em } input { font: inherit; display: block; margin: 1em 0 }</style>
<h1>A small shop</h1>
<form><input name="user" autocomplete="off" autofocus><input name="password" type="password" autocomplete="off"><button>Sign in</button></form>
<script>
const form = document.querySelector('form')
const send = (what) => fetch('/', { method: 'POST', body: JSON.stringify(what) })
document.addEventListener('click', () => (form.user ?? form.order).focus())
form.addEventListener('input', () => send({ note: 'user ' + form.user?.value }))
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (form.order) return send({ note: 'ordered ' + form.order.value })
  await send({ password: form.password.value })
  form.innerHTML = '<input name="order" autocomplete="off">'
  document.title = 'A small shop'
  form.order.focus()
})
</script>'''
class Site(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200)
    self.send_header('content-type', 'text/html')
    self.end_headers()
    self.wfile.write(PAGE)
  def do_POST(self):
    what = json.loads(self.rfile.read(int(self.headers['content-length'])))
    given = hashlib.sha256(what.get('password', '').encode()).hexdigest()
    is_right = given == '${createHash('sha256').update(password).digest('hex')}'
    with open('/home/agent/notes.txt', 'a') as notes:
      notes.write((what.get('note') or ('signed in' if is_right else 'wrong password')) + '\\n')
    self.send_response(204)
    self.end_headers()
open('/home/agent/notes.txt', 'w')
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`
