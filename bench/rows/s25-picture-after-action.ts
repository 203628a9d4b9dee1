import { Computer, type Machine } from '@computer/sdk'
import { anthropicComputerTool } from '@computer/sdk/anthropic'
import sharp from 'sharp'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../e2e/harness/polling.ts'
import { polling, withMachine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** Vendors' examples wait this long between an action and its picture. */
const waitMs = 2000
/** Every effect is complete after this time: the slowest is a new window, within 450 ms. */
const completeMs = 1000
/** Pixels that a blinking text cursor changes. */
const cursorPixels = 100

/**
 * Actions of a model on a desktop, and the pictures that it is given. A picture must be what the screen
 * shows once the effect is complete, and every action must have an effect.
 */
export const bench: Bench = {
  name: 's25-picture-after-action',
  title: 'a picture that shows the effect of an action',
  run: (context) =>
    withMachine(context.api, 's25', async ({ id }) => {
      const { api, say } = context
      say('waiting for the desktop')
      await api.waitForDesktop(id, polling)
      const computer = new Computer({ apiKey: api.key, baseUrl: api.baseUrl })
      try {
        const machine = await computer.machines.get(id)
        await openPage(machine)
        return await measure(context, machine)
      } finally {
        await computer.close()
      }
    }),
}

async function measure({ plan, say }: BenchContext, machine: Machine): Promise<Row[]> {
  const settled = await anthropicComputerTool(machine)
  const immediate = await anthropicComputerTool(machine, { settleMs: 0 })
  let actions = 0
  let before = await takePicture(machine)
  let [pictures, stale] = [0, 0]

  const act = async ({ execute }: typeof settled): Promise<Picture> => {
    const input = actionAt(actions++)
    const [shown] = (await execute({ id: 'action', input })).content
    if (shown?.type === 'image') return decode(Buffer.from(shown.source.data, 'base64'))
    throw new Error(shown?.text)
  }
  /** Resolves to the screen with the whole effect of the last action, which must have one. */
  const finish = async (): Promise<{ readonly after: Picture; readonly wrong?: string }> => {
    await pause(completeMs)
    const [earlier, after] = [before, await takePicture(machine)]
    before = after
    if (differ(earlier, after)) return { after }
    return { after, wrong: `${JSON.stringify(actionAt(actions - 1))} has no effect` }
  }
  const baseline = async (): Promise<Sample> => {
    await act(immediate)
    const { ms } = await time(async () => {
      await pause(waitMs)
      await takePicture(machine)
    })
    return { ms, wrong: (await finish()).wrong }
  }
  const ours = async (): Promise<Sample> => {
    const { ms, result: shown } = await time(() => act(settled))
    const { after, wrong } = await finish()
    pictures += 1
    if (differ(shown, after)) stale += 1
    return { ms, wrong }
  }
  const rounds = await runRounds({ baseline, ours }, plan.slow, say)
  const row = compareRounds(rounds, {
    id: 'S25',
    ours: 'action and picture through an adapter',
    baseline: `a fixed wait of ${waitMs / 1000} s`,
    target: { ratio: 0.15 },
  })
  // Pairs take seconds, and a share of less than one in a hundred takes many pictures.
  while (pictures < plan.fast.rounds) {
    say(`${pictures} pictures of ${plan.fast.rounds}, ${stale} of them stale`)
    const { wrong } = await ours()
    if (wrong !== undefined) throw new Error(wrong)
  }
  const what = `pictures, of ${pictures}, without the effect of the action`
  const value = (100 * stale) / pictures
  return [row, { kind: 'figure', id: 'S25', what, value, unit: '%', limit: 1 }]
}

/** A cycle, so that every action has a visible effect. */
function actionAt(index: number): object {
  const actions = [
    { action: 'type', text: `word ${index} ` },
    { action: 'left_click', coordinate: [640, 600] },
    { action: 'key', text: 'alt+F2' },
    { action: 'key', text: 'Escape' },
    { action: 'key', text: 'ctrl+a' },
    { action: 'key', text: 'Delete' },
  ]
  return actions[index % actions.length]!
}

/** A text field, and a button that changes its colour a moment after a click. */
const page = `<!doctype html><meta charset="utf-8"><title>bench</title>
<style>textarea, button { position: fixed; left: 5%; width: 90%; border: 0; font: 30px sans-serif }
textarea { top: 5%; height: 40% } button { top: 50%; height: 45%; background: hsl(0 80% 50%) }</style>
<textarea autofocus></textarea><button></button>
<script>const [field, button] = document.querySelectorAll('textarea, button')
let hue = 0
const colour = () => { hue += 100; button.style.background = 'hsl(' + hue + ' 80% 50%)' }
button.onclick = () => { setTimeout(colour, 120); field.focus() }</script>`

async function openPage(machine: Machine): Promise<void> {
  await machine.files.write('bench.html', page)
  const options = ['--no-first-run', '--start-maximized', '--app=file:///home/agent/bench.html']
  await machine.processes.start(['chromium', ...options])
  await eventually(
    'the page is on the screen',
    async () => {
      const { data, width } = await takePicture(machine)
      const at = (600 * width + 640) * 3
      const [red, green, blue] = data.subarray(at, at + 3)
      return red! > 200 && green! < 80 && blue! < 80
    },
    polling,
  )
  await machine.mouse.click(640, 200)
}

type Picture = { readonly width: number; readonly data: Buffer }

async function takePicture(machine: Machine): Promise<Picture> {
  return decode((await machine.screenshot()).bytes)
}

/** Three bytes for each pixel. */
async function decode(png: Uint8Array): Promise<Picture> {
  const pixels = sharp(png).removeAlpha().raw()
  const { data, info } = await pixels.toBuffer({ resolveWithObject: true })
  return { data, width: info.width }
}

/** Whether more than a text cursor differs, below the panel with its clock. */
function differ(a: Picture, b: Picture): boolean {
  const panelPixels = 40 * a.width
  let different = 0
  for (let at = 3 * panelPixels; at < a.data.length; at += 3) {
    const isSame = a.data.compare(b.data, at, at + 3, at, at + 3) === 0
    if (!isSame && ++different > cursorPixels) return true
  }
  return false
}
