import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import sharp from 'sharp'
import { eventually } from './harness/polling.ts'
import { launchChromium } from './harness/chromium.ts'
import { NovncViewer, servePage } from './harness/novnc-page.ts'
import { difference } from './harness/pictures.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * The published noVNC in a real Chromium, connected to a real machine through a real gateway. The tests
 * build on each other. COMPUTER_UPDATE_IMAGES saves a screenshot as docs/images/novnc.png.
 */

let server: RealServer
let browser: Browser
let site: Awaited<ReturnType<typeof servePage>>
let id = ''
let session = ''
let viewer: NovncViewer
let observer: NovncViewer
const path = (rest: string) => `/v1/machines/${id}/${rest}`

before(async () => {
  server = await joinServer()
  browser = await launchChromium()
  site = await servePage()
  id = (await server.api.ok('POST', '/v1/machines', {})).id
  await server.api.waitForDesktop(id)
})
after(async () => {
  await browser?.close()
  await site?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

test('it connects with a token and shows the screen of the machine', async () => {
  session = (await server.api.ok('POST', '/v1/sessions', { machine_id: id })).id
  viewer = await view(session)
  await showsMachine(viewer)
  const [first] = await viewer.messages()
  assert.deepEqual(first, { type: 'ready', width: 1280, height: 800 })
})

test('without the lease it is view-only; with it, a click and text land', async () => {
  await openTerminal()
  await showsMachine(viewer)
  await viewer.page.mouse.click(640, 400)
  await viewer.page.keyboard.type('too early ')

  const { fence } = await server.api.ok('POST', path('input-lease'), {
    session_id: session,
    ttl_seconds: 600,
  })
  await viewer.nameFence(fence)
  await viewer.page.mouse.click(640, 400)
  await viewer.page.keyboard.type('Typed in noVNC: ~!@#$%^&*()_+ ')
  await eventually('the text arrives', async () => {
    const answer = await server.api.call('GET', path('files/content?path=typed.txt'))
    return answer.body?.content === 'Typed in noVNC: ~!@#$%^&*()_+ '
  })
  await showsMachine(viewer)
})

test('the effect of a click is shown to every viewer', async () => {
  observer = await view()
  await showsMachine(observer)
  const before = await viewer.picture()
  await viewer.page.mouse.click(1100, 700, { button: 'right' })
  await eventually('a menu is drawn', async () => {
    return (await difference(before, await viewer.picture())) > 1
  })
  await showsMachine(viewer)
  await showsMachine(observer)
  if (process.env['COMPUTER_UPDATE_IMAGES']) {
    const image = await sharp(await viewer.page.screenshot())
      .png({ palette: true })
      .toBuffer()
    await writeFile(new URL('../docs/images/novnc.png', import.meta.url), image)
  }
  await viewer.page.keyboard.press('Escape')
  await eventually('the menu is gone', async () => {
    return (await difference(before, await viewer.picture())) < 1
  })
})

test('the display follows the window of a viewer, and every viewer follows the display', async () => {
  await viewer.followWindow()
  await viewer.page.setViewportSize({ width: 1000, height: 700 })
  await eventually('the display has the size of the window', async () => {
    const { width, height } = await server.api.ok('GET', path('display'))
    return width === 1000 && height === 700
  })
  for (const one of [viewer, observer]) await showsMachine(one)

  await server.api.ok('POST', path('display/resize'), { width: 1100, height: 600 })
  for (const one of [viewer, observer]) await showsMachine(one)
})

test('a takeover makes it view-only, and it keeps showing the screen', async () => {
  await server.api.takeLease(id, { force: true })
  await eventually('the viewer is notified', async () => {
    return (await viewer.messages()).some(({ type }) => type === 'lease_lost')
  })
  await viewer.page.keyboard.type('too late')
  await server.api.ok('POST', path('keyboard/type'), { text: 'Taken over.' })
  await eventually('the text of the new holder arrives alone', async () => {
    const { body } = await server.api.call('GET', path('files/content?path=typed.txt'))
    return body.content.endsWith('()_+ Taken over.')
  })
  await showsMachine(viewer)
})

async function view(sessionId?: string): Promise<NovncViewer> {
  const [{ gateway_url }, { token }] = await Promise.all([
    server.api.ok('GET', '/v1/auth/me'),
    server.api.ok('POST', '/v1/gateway-tokens'),
  ])
  const options = { gatewayUrl: gateway_url, token, machineId: id, sessionId }
  return NovncViewer.open(browser, site.origin, options)
}

/** Opens a terminal over most of the screen, with a program that writes each character to a file. */
async function openTerminal(): Promise<void> {
  const program = `sh -c 'stty -icanon; exec cat >typed.txt'`
  await server.api.launch(id, `xfce4-terminal --geometry 100x30+150+100 -x ${program}`)
  await eventually('the program reads', async () => {
    const answer = await server.api.call('GET', path('files/content?path=typed.txt'))
    return answer.status === 200
  })
}

/** Waits until the viewer shows the machine's screen, up to the losses of JPEG. */
async function showsMachine(one: NovncViewer): Promise<void> {
  let last = Infinity
  await eventually('the viewer shows the screen of the machine', async () => {
    const { bytes } = await server.api.call('GET', path('screenshot'), undefined, {
      accept: 'image/png',
    })
    last = await difference(bytes, await one.picture())
    return last < 2
  }).catch((error: Error) => assert.fail(`${error.message}; it differs by ${last}`))
}
