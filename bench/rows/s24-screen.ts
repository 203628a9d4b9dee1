import type { Browser, Page } from 'playwright-core'
import { canvas, driver, picture } from '../../dashboard/test/screen-pages.ts'
import { openAs } from '../../e2e/harness/dashboard-page.ts'
import { NovncViewer, servePage } from '../../e2e/harness/novnc-page.ts'
import type { Person } from '../../e2e/harness/person.ts'
import { pixelOf } from '../canvas.ts'
import { withPerson } from '../dashboard.ts'
import { withDesktop } from '../desktop.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench } from '../row.ts'
import { runRounds } from '../rounds.ts'

/**
 * A press of the mouse on a page until the page has drawn the pixel that it changes: the dashboard's screen,
 * and a page with nothing but noVNC on the same gateway. Both pages drive in one session and are open all the
 * time, so each draws what the other causes.
 */
export const bench: Bench = {
  name: 's24-screen',
  title: 'input to frame in a browser',
  run: (context) =>
    withPerson(context, (browser, person) =>
      withDesktop(context, 's24', async (desktop) => {
        await desktop.ask({ do: 'follow' })
        await using site = await servePage()
        const ours = await openDashboard(browser, person, desktop.id)
        const plain = await openNovnc(browser, person, desktop.id, site.origin)
        const sides = {
          baseline: (round: number) => press(plain, 2 * round),
          ours: (round: number) => press(ours, 2 * round + 1),
        }
        const rounds = await runRounds(sides, context.plan.fast, context.say)
        const row = {
          id: 'S24',
          ours: 'press → drawn by the dashboard',
          baseline: 'noVNC alone on a page',
          target: { ratio: 1.1 },
        }
        return [compareRounds(rounds, row)]
      }),
    ),
}

/** The centre of the probe's response to a press. */
const watched = { x: 640, y: 400 }

async function openDashboard(browser: Browser, person: Person, id: string): Promise<Page> {
  const viewport = { width: 1600, height: 1100 }
  const context = await openAs(browser, person, person.baseUrl, { viewport })
  await context.addInitScript(stopwatch)
  const page = await context.newPage()
  await page.goto(`${person.baseUrl}/m/${id}`)
  await picture(page, 'live').waitFor()
  await page.getByRole('button', { name: 'Take over' }).click()
  await driver(page, 'you').waitFor()
  await canvas(page).waitFor()
  return page
}

/** A second viewer of the session that the dashboard has opened. */
async function openNovnc(
  browser: Browser,
  person: Person,
  machineId: string,
  origin: string,
): Promise<Page> {
  const [{ gateway_url: gatewayUrl }, { token }, lease] = await Promise.all([
    person.ok('GET', '/v1/auth/me'),
    person.ok('POST', '/v1/gateway-tokens'),
    person.ok('GET', `/v1/machines/${machineId}/input-lease`),
  ])
  const options = { gatewayUrl, token, machineId, sessionId: lease.holder.session_id }
  const viewer = await NovncViewer.open(browser, origin, options)
  await viewer.page.evaluate(stopwatch)
  await viewer.nameFence(lease.fence)
  return viewer.page
}

/** The probe shows a colour of its own for every point; a scaled page may press one beside it. */
async function press(page: Page, number: number): Promise<Sample> {
  const [x, y] = [330 + ((number * 97) % 620), 170 + ((number * 61) % 460)]
  const near = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => pixelOf(x + dx, y + dy)))
  const box = (await page.locator('canvas').last().boundingBox())!
  await page.mouse.move(
    box.x + ((x + 0.5) * box.width) / 1280,
    box.y + ((y + 0.5) * box.height) / 800,
  )
  await page.evaluate(`window.awaitColour(${JSON.stringify({ ...watched, near })})`)
  await page.mouse.down()
  await page.mouse.up()
  return { ms: await page.evaluate<number>('window.coloured') }
}

/**
 * Takes the time from the press to the drawing after which the watched pixel has one of the colours. noVNC
 * draws on a canvas of its own and copies from there to the one that is shown.
 */
const stopwatch = `{
  const draw = CanvasRenderingContext2D.prototype.drawImage
  let watch
  CanvasRenderingContext2D.prototype.drawImage = function (...from) {
    draw.apply(this, from)
    if (!watch || !this.canvas.isConnected) return
    const [red, green, blue] = this.getImageData(watch.x, watch.y, 1, 1).data
    if (!watch.near.includes((red << 16) | (green << 8) | blue)) return
    watch.resolve(performance.now() - watch.pressedAt)
    watch = undefined
  }
  addEventListener('mousedown', () => { if (watch) watch.pressedAt = performance.now() }, true)
  window.awaitColour = (wanted) => {
    window.coloured = new Promise((resolve, reject) => {
      watch = { ...wanted, resolve }
      setTimeout(() => reject(new Error('the colour was not drawn within 10 s')), 10_000)
    })
    window.coloured.catch(() => {})
  }
}`
