import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { eventually } from './harness/polling.ts'
import { launchChromium } from './harness/chromium.ts'
import { signInOwner } from './harness/person.ts'
import { startRealServer, type RealServer } from './harness/server.ts'

/*
 * Private previews of a real machine in a real Chromium. Their domain is preview.localhost, not localhost
 * itself, so that the browser considers two previews same-site, as with the domain of a deployment. The
 * tests build on each other.
 */

type Preview = { readonly url: string; readonly access_url: string }

let server: RealServer
let browser: Browser
let one: Preview
let other: Preview
let guest: BrowserContext
let page: Page

before(async () => {
  server = await startRealServer({ previewDomain: 'preview.localhost' })
  const { api } = server
  const machine = (await api.ok('POST', '/v1/machines', {})).id as string
  const path = '/home/agent/web.py'
  await api.ok('PUT', `/v1/machines/${machine}/files/content`, { path, content: webServer })
  await api.launch(machine, `python3 ${path}`)
  for (const port of [8000, 8001]) {
    const url = `http://127.0.0.1:${port}/`
    const command = ['python3', '-c', `import urllib.request as r; r.urlopen("${url}")`]
    await eventually(`port ${port} answers`, async () => {
      const { exit_code } = await api.ok('POST', `/v1/machines/${machine}/exec`, { command })
      return exit_code === 0
    })
  }
  one = await api.ok('POST', `/v1/machines/${machine}/ports`, { port: 8000 })
  other = await api.ok('POST', `/v1/machines/${machine}/ports`, { port: 8001 })
  const trusted = await readTrustedKey(new URL(one.url))
  browser = await launchChromium([`--ignore-certificate-errors-spki-list=${trusted}`])
  guest = await browser.newContext()
  page = await guest.newPage()
})
after(async () => {
  await browser?.close()
  await server?.[Symbol.asyncDispose]()
})

test('the link opens the page at its clean address, and a reload and its own requests stay authorized', async () => {
  await page.goto(one.access_url)
  assert.equal(page.url(), `${one.url}/`)
  assert.equal(await page.textContent('h1'), 'Port 8000')
  assert.equal(await page.evaluate('isSecureContext'), true)
  await page.waitForFunction(`document.querySelector('p').textContent === '0 1 2'`)
  assert.equal((await page.reload())?.status(), 200)
  await page.waitForFunction(`document.querySelector('p').textContent === '0 1 2'`)
  assert.equal(await page.evaluate('document.cookie'), '')
})

test('a used link admits nobody else, and its first user stays admitted', async () => {
  const context = await browser.newContext()
  const late = await context.newPage()
  assert.equal((await late.goto(one.access_url))?.status(), 401)
  assert.match((await late.textContent('p')) ?? '', /link was already used/)
  await context.close()
  await page.goto(one.access_url)
  assert.equal(page.url(), `${one.url}/`)
})

test('a visitor who is not signed in is sent to the sign-in, and then to the requested page', async () => {
  const context = await browser.newContext()
  const visitor = await context.newPage()
  await visitor.goto(`${one.url}/cookies?a=b`)
  const asked = new URL(visitor.url())
  assert.equal(asked.origin + asked.pathname, `${server.api.baseUrl}/login`)
  const next = asked.searchParams.get('next')!
  assert.match(next, /^\/v1\/preview-exchange\?/)
  await signIn(context)
  // As the page does after the sign-in.
  await visitor.goto(new URL(next, server.api.baseUrl).href)
  await visitor.waitForURL(`${one.url}/cookies?a=b`)
  // The machine receives no cookie of ours.
  assert.equal(await visitor.textContent('body'), 'cookies: ')
  await context.close()
})

test('a signed-in member is redirected to the server and back', async () => {
  const context = await browser.newContext()
  await signIn(context)
  const member = await context.newPage()
  assert.equal((await member.goto(`${other.url}/?a=b`))?.status(), 200)
  assert.equal(member.url(), `${other.url}/?a=b`)
  assert.equal(await member.textContent('h1'), 'Port 8001')
  await context.close()
})

test('responses of a preview cannot set cookies for a sibling, and its page cannot read them', async () => {
  const sibling = await guest.newPage()
  await sibling.goto(other.access_url)
  await page.goto(`${one.url}/set`)
  await page.goto(`${one.url}/cookies`)
  assert.equal(await page.textContent('body'), 'cookies: wide=8000; own=8000')
  await sibling.goto(`${other.url}/cookies`)
  assert.equal(await sibling.textContent('body'), 'cookies: ')
  assert.equal(await sibling.evaluate('document.cookie'), '')
  const read = `fetch('${one.url}/cookies', { credentials: 'include' }).then((r) => r.text(), String)`
  assert.match(await sibling.evaluate(read), /Failed to fetch/)

  // A script may set one, so the browser would accept it from a response; but not the access cookie.
  const plant = (name: string) =>
    page.evaluate(`document.cookie = '${name}=x; Domain=preview.localhost; Path=/; Secure'`)
  await plant('scripted')
  await plant('__Host-computer_preview')
  assert.equal((await sibling.reload())?.status(), 200)
  assert.equal(await sibling.textContent('body'), 'cookies: scripted=x')
})

/** Sets the session cookie, as a login in a browser would. */
async function signIn(context: BrowserContext): Promise<void> {
  const { cookie } = await signInOwner(server, `Person${people++}`)
  const [name = '', value = ''] = cookie.split('=')
  await context.addCookies([{ name, value, url: server.api.baseUrl }])
}
let people = 0

/** The hash of the key of the certificate at that address, which the server's own authority signed. */
async function readTrustedKey({ hostname, port }: URL): Promise<string> {
  const ca = await readFile(join(server.dataDir, 'previews', 'authority.crt'))
  const socket = connect({ host: '127.0.0.1', port: Number(port), servername: hostname, ca })
  await once(socket, 'secureConnect')
  const key = socket.getPeerX509Certificate()!.publicKey.export({ type: 'spki', format: 'der' })
  socket.destroy()
  return createHash('sha256').update(key).digest('base64')
}

const webServer = `
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

page = '''<!doctype html><title>Page</title><link rel="icon" href="data:,"><h1>Port %d</h1><p></p><script>
const seen = []
new EventSource('/events').onmessage = ({ data }) => {
  if (seen.length < 3) seen.push(data)
  document.querySelector('p').textContent = seen.join(' ')
}
</script>'''

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        port = self.server.server_port
        self.send_response(200)
        if self.path == '/events':
            self.send_header('content-type', 'text/event-stream')
            self.end_headers()
            for number in range(1000):
                self.wfile.write(b'data: %d\\n\\n' % number)
                self.wfile.flush()
                time.sleep(0.2)
            return
        self.send_header('content-type', 'text/html')
        if self.path == '/set':
            self.send_header('set-cookie', 'wide=%d; Domain=preview.localhost; Path=/' % port)
            self.send_header('set-cookie', 'own=%d; Path=/' % port)
        self.end_headers()
        is_asked = self.path.startswith('/cookies')
        text = 'cookies: ' + self.headers.get('cookie', '') if is_asked else page % port
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass

servers = [ThreadingHTTPServer(('127.0.0.1', port), Handler) for port in (8000, 8001)]
for each in servers:
    Thread(target=each.serve_forever).start()
`
