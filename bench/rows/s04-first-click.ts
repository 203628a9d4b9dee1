import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from '../../e2e/harness/api.ts'
import { countChanged, type Area } from '../canvas.ts'
import { installScrot } from '../desktop.ts'
import { createMachine, deleteMachine, polling, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { openPool } from '../pool.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** A right click on the backdrop opens a menu below it, to the right. */
const click = { x: 640, y: 250 }
const menu: Area = { left: 650, top: 260, width: 160, height: 160 }
const elsewhere: Area = { left: 100, top: 260, width: 160, height: 160 }
const image = 'bench-desktop'
const boundMs = 120_000

/**
 * The creation of a machine until a click has a visible effect. The picture must change where the menu
 * opens and nowhere else, so that a desktop that is still painting itself does not count.
 */
export const bench: Bench = {
  name: 's04-first-click',
  title: 'create → a click changes pixels',
  async run(context) {
    await bakeImage(context)
    await using pool = await openPool()
    const sides = {
      baseline: (round: number) => launch(context, `s04-${round}`),
      cold: async (round: number) => (await create(context.api, `s04-${round}`)).sample,
      warm: (round: number) => pool.take((api) => create(api, `s04-${round}`)),
    }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    const baseline = 'incus launch + X + xdotool + scrot'
    const cold = { id: 'S4', ours: 'create → click', target: { ratio: 0.8 } }
    const warm = { id: 'S4', ours: 'create → click, a machine waits', target: { ratio: 0.1 } }
    return [
      compareSides(rounds, { baseline: 'baseline', ours: 'cold' }, { ...cold, baseline }),
      compareSides(rounds, { baseline: 'baseline', ours: 'warm' }, { ...warm, baseline }),
    ]
  },
}

async function create(
  api: ApiClient,
  name: string,
): Promise<{ readonly sample: Sample; readonly machine: Machine }> {
  let machine: Machine | undefined
  try {
    const { ms } = await time(async () => {
      machine = await createMachine(api, name)
      const { id } = machine
      await api.waitForDesktop(id, polling)
      await api.takeLease(id)
      const takeScreenshot = async () => {
        const headers = { accept: 'image/png' }
        return (await api.call('GET', `/v1/machines/${id}/screenshot`, undefined, headers)).bytes
      }
      await clickUntilSeen(takeScreenshot, () =>
        api.ok('POST', `/v1/machines/${id}/mouse/click`, { at: click, button: 'right' }),
      )
    })
    return { sample: { ms }, machine: machine! }
  } finally {
    if (machine) await deleteMachine(api, machine.id)
  }
}

async function launch({ incus }: BenchContext, name: string): Promise<Sample> {
  const run = (command: string) => incus.exec(name, 'env', 'DISPLAY=:0', 'sh', '-c', command)
  try {
    const { ms } = await time(async () => {
      await incus.run(...incus.launchArgs(image, name))
      await run('until xdotool getdisplaygeometry; do sleep 0.05; done >/dev/null 2>&1')
      await clickUntilSeen(
        () => run('scrot --overwrite /tmp/shot.png && cat /tmp/shot.png'),
        () => run(`xdotool mousemove ${click.x} ${click.y} click 3`),
      )
    })
    return { ms }
  } finally {
    await incus.remove(name)
  }
}

/** Clicks again after a second without an effect, because the desktop may not have been ready. */
async function clickUntilSeen(
  takeScreenshot: () => Promise<Buffer>,
  click: () => Promise<unknown>,
): Promise<void> {
  const deadline = performance.now() + boundMs
  while (performance.now() < deadline) {
    const before = await takeScreenshot()
    await click()
    const retryAt = performance.now() + 1000
    while (performance.now() < retryAt) {
      const after = await takeScreenshot()
      const changed = await countChanged(before, after, menu)
      if (changed < (menu.width * menu.height) / 2) {
        await delay(5)
        continue
      }
      if ((await countChanged(before, after, elsewhere)) === 0) return
      break
    }
  }
  throw new Error(`no click had a visible effect within ${boundMs} ms`)
}

/** Publishes the image with a screenshot tool in it, and unpacks it before the measurement. */
async function bakeImage({ incus, say }: BenchContext): Promise<void> {
  say('baking an image with scrot for the baseline')
  const name = 's04-image'
  await incus.run(...incus.launchArgs(incus.image, name))
  await incus.exec(name, 'sh', '-c', 'until ip -4 route | grep -q default; do sleep 0.2; done')
  await installScrot((...command) => incus.exec(name, ...command))
  await incus.exec(name, 'sync')
  await incus.run('stop', '--force', '--project', 'bench', name)
  await incus.publish(name, image)
  await incus.remove(name)
  await incus.run(...incus.launchArgs(image, name))
  await incus.remove(name)
}
